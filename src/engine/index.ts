/**
 * Ixion as a library.
 *
 *     import { createEngine } from 'ixion'
 *     const engine = await createEngine()
 *     await engine.execute('CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="demo")')
 *     await engine.query({ sql: 'SELECT temp FROM demo WHERE temp > 20', onResult: (rows) => console.log(rows) })
 *     await engine.feedRows('demo', [{ temp: 21.5 }])
 */
import { Engine } from './engine.ts'
import type { EngineOptions } from './settings.ts'

export type * from '../connectors/contract.ts'
export { connectors as builtinConnectors } from '../connectors/index.ts'
export { type Clock, type ManualClock, manualClock, systemClock } from '../core/clock.ts'
export { type ErrorCode, IxionError, RowError } from '../core/errors.ts'
export { imbalance, type LedgerReading } from '../core/ledger.ts'
export { Instant, type Value, type ValueObject } from '../core/values.ts'
export type { FunctionDefinition } from '../functions/contract.ts'
export type { Store } from '../stores/contract.ts'
export { levelStore } from '../stores/level.ts'
export { memoryStore } from '../stores/memory.ts'
export { Engine } from './engine.ts'
export type { Query, QueryOptions } from './query.ts'
export type { RuleStatus, RuleSummary } from './rule-reports.ts'
export type { ConfigurationSource, EngineOptions } from './settings.ts'

/** Opens an engine and starts the rules its store holds. */
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  const engine = await Engine.open(options)
  await engine.startStoredRules()
  return engine
}
