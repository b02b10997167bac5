/** Every connector, listed explicitly. */
import type { ConnectorDefinition } from './contract.ts'
import { file } from './file/index.ts'
import { log } from './log/index.ts'
import { logToMemory } from './log-to-memory/index.ts'
import { memory } from './memory/index.ts'
import { mqtt } from './mqtt/index.ts'
import { nop } from './nop/index.ts'
import { simulator } from './simulator/index.ts'

export const connectors: readonly ConnectorDefinition[] = [file, log, logToMemory, memory, mqtt, nop, simulator]
