/**
 * Lookup tables (spec/connectors.md 11): one running table per definition, connected when the table is created (or the engine
 * starts), shared by all rules that join with it, closed when it is dropped.
 */
import type { LookupAccess } from '../compile/chain.ts'
import type { Lookup, LookupDefinition } from '../connectors/contract.ts'
import { IxionError, messageOf } from '../core/errors.ts'
import { validateOptions } from '../core/validate.ts'
import { copyFields, getField, setField, type Value, type ValueObject } from '../core/values.ts'
import { createPayloadDecoder } from '../formats/merge.ts'
import type { LookupTable } from '../operators/lookup.ts'
import type { StreamDefinition } from '../sql/ast.ts'
import { connectorContext, type EngineEnvironment } from './environment.ts'
import { type CommonSourceOptions, commonSourceSpecs } from './source-options.ts'
import { sourceProperties, sourceType } from './source-properties.ts'
import { decodeOptions, ownProperties } from './source-run.ts'

/** Questions of one rule to one table on their way at a time. */
const MAX_IN_FLIGHT = 64
/** Answers a rule keeps of one table. */
const MAX_CACHED = 100_000

interface Running {
  readonly definition: StreamDefinition
  readonly lookup: Lookup
  readonly access: LookupAccess
  connected: boolean
  users: number
  /** Replaced or dropped: closed with its last user. */
  retired: boolean
}

export class LookupTables {
  readonly #tables = new Map<string, Running>()

  /** Makes the table and connects it. A table of that name that is still in use serves its rules until they stop. */
  async open(environment: EngineEnvironment, definition: StreamDefinition): Promise<void> {
    const running = await createRunning(environment, definition)
    await connect(running)
    await this.#retire(definition.name)
    this.#tables.set(definition.name, running)
  }

  /** At start-up: a table that does not connect is tried again when a rule needs it. */
  async restore(environment: EngineEnvironment, definition: StreamDefinition): Promise<void> {
    try {
      await this.open(environment, definition)
    } catch (error) {
      environment.log.error('a lookup table does not connect', { table: definition.name, error: messageOf(error) })
    }
  }

  async #retire(name: string): Promise<void> {
    const running = this.#tables.get(name)
    if (!running) return
    this.#tables.delete(name)
    running.retired = true
    if (running.users === 0) await running.lookup.close()
  }

  /** Throws IN_USE while rules join with the table. */
  checkUnused(name: string): void {
    if ((this.#tables.get(name)?.users ?? 0) === 0) return
    throw new IxionError('IN_USE', `lookup table ${name} is still in use, stop all using rules before dropping it`)
  }

  async drop(name: string): Promise<void> {
    this.checkUnused(name)
    await this.#retire(name)
  }

  /** For one rule; `release` once when it stops. */
  async attach(
    environment: EngineEnvironment,
    definition: StreamDefinition,
  ): Promise<{ readonly access: LookupAccess; readonly release: () => Promise<void> }> {
    let running = this.#tables.get(definition.name)
    if (!running) {
      running = await createRunning(environment, definition)
      this.#tables.set(definition.name, running)
    }
    running.users++
    const table = running
    const release = async (): Promise<void> => {
      table.users--
      if (table.retired && table.users === 0) await table.lookup.close()
    }
    try {
      await connect(table)
    } catch (error) {
      await release()
      throw error
    }
    return { access: table.access, release }
  }

  async closeAll(): Promise<void> {
    await Promise.allSettled([...this.#tables.values()].map((t) => t.lookup.close()))
    this.#tables.clear()
  }
}

async function connect(running: Running): Promise<void> {
  if (running.connected) return
  await running.lookup.connect(new AbortController().signal)
  running.connected = true
}

function lookupDefinition(environment: EngineEnvironment, definition: StreamDefinition): LookupDefinition {
  const type = sourceType(definition)
  const found = environment.connectors.get(type)?.lookup
  if (!found) {
    throw new IxionError('INVALID_PROPERTY', `lookup source type ${type} not found`, {
      path: `${definition.name}.TYPE`,
    })
  }
  return found
}

async function createRunning(environment: EngineEnvironment, definition: StreamDefinition): Promise<Running> {
  const connector = lookupDefinition(environment, definition)
  const where = `table ${definition.name}`
  const given = copyFields({}, sourceProperties(definition, environment.options.configuration))
  const common = validateOptions(commonSourceSpecs, given, where, { unknown: 'drop' }) as unknown as CommonSourceOptions
  if ((common.payloadFormat === '') !== (common.payloadField === '')) {
    throw new IxionError('INVALID_PROPERTY', 'payloadFormat and payloadField must set together', { path: where })
  }
  const { key, datasource } = definition.options
  if (key && Object.hasOwn(connector.options, 'key')) setField(given, 'key', key)
  // Configuration keys are shared with scan sources of the type, whose other properties mean nothing here.
  const own = validateOptions(connector.options, ownProperties(given, connector.options), where, { unknown: 'drop' })
  const lookup = connector.create(datasource ?? '', own, connectorContext(environment, definition.name))
  const table = common.payloadFormat ? await withPayload(environment, definition, common, lookup) : lookup
  const { cache, cacheTtl, cacheMissingKey } = common.lookup ?? { cache: false, cacheTtl: 0, cacheMissingKey: false }
  return {
    definition,
    lookup,
    access: {
      table,
      cache: cache ? { ttl: cacheTtl ?? 0, missing: cacheMissingKey ?? false, maxEntries: MAX_CACHED } : null,
      maxInFlight: MAX_IN_FLIGHT,
    },
    connected: false,
    users: 0,
    retired: false,
  }
}

/** Rows of the table hold an encoded payload: it is decoded and laid over the row. A row whose payload does not decode is skipped. */
async function withPayload(
  environment: EngineEnvironment,
  definition: StreamDefinition,
  common: CommonSourceOptions,
  lookup: Lookup,
): Promise<LookupTable> {
  const skipped = (problem: string): void => environment.log.warn(problem, { table: definition.name })
  const decode = await createPayloadDecoder(
    { ...common, format: common.payloadFormat },
    decodeOptions(environment, { common, definition }, null),
    environment.schemas,
    skipped,
  )
  return {
    async lookup(columns, keys, values) {
      // The payload's column is needed whatever the statement asks for.
      const asked = columns && [...new Set([...columns, common.payloadField])]
      const rows = await lookup.lookup(asked, keys, values)
      return rows.flatMap((row) => {
        try {
          return decode(row).map((decoded) => only(decoded, columns))
        } catch (error) {
          skipped(messageOf(error))
          return []
        }
      })
    },
  }
}

function only(row: ValueObject, columns: readonly string[] | null): ValueObject {
  if (columns === null) return row
  const result: ValueObject = {}
  for (const column of columns) {
    const value: Value | undefined = getField(row, column)
    if (value !== undefined) setField(result, column, value)
  }
  return result
}
