/** Simulator: rows from the properties, for trials and tests (spec/connectors.md 9.10, 11.4). */
import type { OptionSpec } from '../../core/options.ts'
import { deepEqual, getField, isObject, type Value, type ValueObject } from '../../core/values.ts'
import { pause, untilAborted } from '../../core/waiting.ts'
import type { ConnectorContext, ConnectorDefinition, Lookup, Source } from '../contract.ts'
import { flag, number } from '../properties.ts'

const data: OptionSpec = {
  type: 'list',
  element: 'map',
  default: [{ temperature: 22.5, humidity: 50 }],
  docs: 'The rows, sent in order.',
}

function rowsOf(properties: ValueObject): ValueObject[] {
  const list = getField(properties, 'data')
  return Array.isArray(list) ? list.filter(isObject) : []
}

function createSimulatorSource(_datasource: string, properties: ValueObject, context: ConnectorContext): Source {
  const rows = rowsOf(properties)
  const loop = flag(properties, 'loop')
  const interval = number(properties, 'interval') ?? 0
  let position = 0
  return {
    async connect() {},
    async read(deliver, signal) {
      while (!signal.aborted && rows.length > 0) {
        if (position >= rows.length) {
          if (!loop) break
          position = 0
        }
        const row = rows[position++] as ValueObject
        const room = deliver({
          kind: 'rows',
          rows: [loop ? structuredClone(row) : row],
          meta: [null],
          timestamp: context.clock.now(),
        })
        if (room) await untilAborted(room, signal)
        if (interval > 0 || loop) await pause(context.clock, interval, signal)
      }
      return 'ended'
    },
    async close() {},
    offset: () => position,
    async rewind(offset) {
      position = typeof offset === 'number' || typeof offset === 'bigint' ? Number(offset) : 0
    },
  }
}

function createSimulatorLookup(_datasource: string, properties: ValueObject): Lookup {
  const rows = rowsOf(properties)
  const lookupNow = (_columns: readonly string[] | null, keys: readonly string[], values: readonly Value[]) =>
    rows.filter((row) => keys.every((key, i) => equal(getField(row, key), values[i] as Value)))
  return {
    async connect() {},
    async lookup(columns, keys, values) {
      return lookupNow(columns, keys, values)
    },
    lookupNow,
    async close() {},
  }
}

function equal(a: Value | undefined, b: Value): boolean {
  const numeric = (value: Value | undefined): boolean => typeof value === 'number' || typeof value === 'bigint'
  return numeric(a) && numeric(b) ? Number(a) === Number(b) : deepEqual(a, b)
}

export const simulator: ConnectorDefinition = {
  name: 'simulator',
  source: {
    name: 'simulator',
    docs: 'Sends rows given in its properties, one per interval.',
    emits: 'rows',
    pausable: true,
    bounded: true,
    options: {
      data,
      loop: { type: 'bool', default: false, docs: 'Start again after the last row; otherwise the stream ends there.' },
      interval: { type: 'duration', default: 1000, minimum: 0, docs: 'Time between two rows.' },
    },
    create: createSimulatorSource,
  },
  lookup: {
    name: 'simulator',
    docs: 'A lookup table whose rows are given in its properties. A row matches when all keys are equal.',
    options: { data },
    create: createSimulatorLookup,
  },
}
