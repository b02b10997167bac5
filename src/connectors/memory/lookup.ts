/**
 * Memory lookup table (spec/connectors.md 11.4): follows a topic and keeps the last row of each key. Tables on the same topic
 * and key share their rows.
 */
import { IxionError } from '../../core/errors.ts'
import { deepEqual, getField, type Value, type ValueObject } from '../../core/values.ts'
import type { ConnectorContext, Lookup } from '../contract.ts'
import { number, text } from '../properties.ts'
import { checkTopicFilter, topicBus } from '../topic-bus.ts'

interface Table {
  readonly rows: Map<string, ValueObject>
  close(): Promise<void>
}

export function createMemoryLookup(datasource: string, properties: ValueObject, context: ConnectorContext): Lookup {
  if (datasource === '') {
    throw new IxionError('INVALID_PROPERTY', 'datasource(topic) is required', { path: 'datasource' })
  }
  checkTopicFilter(datasource)
  const key = text(properties, 'key')
  if (!key) throw new IxionError('INVALID_PROPERTY', 'key is required for lookup source', { path: 'key' })
  const maxRows = number(properties, 'maxRows') ?? 1_000_000
  const poolKey = `memory-table/${JSON.stringify([datasource, key])}`
  let table: Table | undefined

  const find = (columns: readonly string[], values: readonly Value[]): ValueObject[] => {
    if (!table) throw new IxionError('CONNECTION', 'the lookup table is not connected')
    const at = columns.indexOf(key)
    const equal = (row: ValueObject): boolean =>
      columns.every((column, i) => sameValue(getField(row, column), values[i] as Value))
    if (at < 0) return [...table.rows.values()].filter(equal)
    const row = table.rows.get(keyText(values[at] as Value))
    return row && equal(row) ? [row] : []
  }
  const lookupNow = (_columns: readonly string[] | null, keys: readonly string[], values: readonly Value[]) =>
    find(keys, values)

  return {
    async connect() {
      table ??= await context.resources.acquire(poolKey, async () => follow(datasource, key, maxRows, context))
    },
    async lookup(columns, keys, values) {
      return lookupNow(columns, keys, values)
    },
    lookupNow,
    async close() {
      if (!table) return
      table = undefined
      await context.resources.release(poolKey)
    },
  }
}

function follow(topic: string, key: string, maxRows: number, context: ConnectorContext): Table {
  const rows = new Map<string, ValueObject>()
  let full = false
  const leave = topicBus(context).subscribe(topic, (message) => {
    message.rows.forEach((row, i) => {
      const value = getField(row, key)
      if (value == null) {
        context.log.warn(`memory lookup table on ${topic}: a row without its key ${key} is skipped`)
        return
      }
      const id = keyText(value)
      if (message.rowKinds?.[i] === 'delete') {
        rows.delete(id)
        full = false
      } else if (rows.size < maxRows || rows.has(id)) {
        rows.set(id, row)
      } else {
        if (!full) context.log.error(`memory lookup table on ${topic}: more than ${maxRows} rows, new keys are refused`)
        full = true
        context.lost?.(1, new IxionError('LIMIT', `the memory lookup table on ${topic} holds its ${maxRows} rows`))
      }
    })
  })
  return {
    rows,
    async close() {
      leave()
      rows.clear()
    },
  }
}

/** Numbers are equal by value, whatever their kind; other kinds must match. */
function sameValue(a: Value | undefined, b: Value): boolean {
  if (isNumber(a) && isNumber(b)) return Number(a) === Number(b) && (typeof a === typeof b ? a === b : true)
  return deepEqual(a, b)
}

const isNumber = (value: Value | undefined): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint'

/** Equal values have equal texts; the rare others are told apart by {@link sameValue}. */
function keyText(value: Value): string {
  if (isNumber(value)) return `n${Number(value)}`
  if (typeof value === 'string') return `s${value}`
  if (typeof value === 'object')
    return `o${JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? Number(part) : part))}`
  return String(value)
}
