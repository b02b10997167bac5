/** Every bench, in the order they run in. */
import type { Bench } from '../contract.ts'
import { boot } from './boot.ts'
import { general } from './general.ts'
import { httpPush } from './http-push.ts'
import { idle } from './idle.ts'
import { join } from './join.ts'
import { mqtt } from './mqtt.ts'
import { seed } from './seed.ts'
import { session } from './session.ts'
import { sliding } from './sliding.ts'
import { window } from './window.ts'

export const benches: readonly Bench[] = [seed, httpPush, mqtt, general, window, sliding, session, join, boot, idle]
