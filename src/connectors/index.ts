/** Every connector, listed explicitly. */
import type { ConnectorDefinition } from './contract.ts'
import { file } from './file/index.ts'
import { httppush } from './httppush/index.ts'
import { log } from './log/index.ts'
import { logToMemory } from './log-to-memory/index.ts'
import { memory } from './memory/index.ts'
import { mqtt } from './mqtt/index.ts'
import { nop } from './nop/index.ts'
import { rest } from './rest/index.ts'
import { simulator } from './simulator/index.ts'

export const connectors: readonly ConnectorDefinition[] = [
  file,
  httppush,
  log,
  logToMemory,
  memory,
  mqtt,
  nop,
  rest,
  simulator,
]
