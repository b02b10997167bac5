/**
 * Functions of no other family (spec/functions.json categories other and internal). Those that need the row or the window
 * are declared in special.ts.
 */
import { castTo, castTypes, toInt } from '../core/cast.ts'
import type { Clock } from '../core/clock.ts'
import { RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { getField, type Value } from '../core/values.ts'
import type { ScalarFunction } from './contract.ts'
import { any, checkLiterals, defineScalar, expectCount, num, text, timeContext } from './helpers.ts'

const family = 'other'

/** Longest pause of delay(): the engine stands still meanwhile. */
const MAX_DELAY_MS = 1000

/** get_keyed_state() knows the types of cast() but bytea. */
const stateTypes = castTypes.filter((type) => type !== 'bytea')

/** Blocks the thread. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** Counts calls within one millisecond, so that ids made in it differ. */
let sequence = 0

function randomBits(clock: Clock, bits: number): bigint {
  return BigInt(Math.floor(clock.random() * 2 ** bits))
}

/** A UUID of version 1: 100-nanosecond ticks since 1582-10-15, a random clock sequence and a random node. */
function uuid(clock: Clock): string {
  sequence = (sequence + 1) % 10_000
  const ticks = (BigInt(Math.floor(clock.now())) + 12_219_292_800_000n) * 10_000n + BigInt(sequence)
  const hex = (value: bigint, digits: number): string => value.toString(16).padStart(digits, '0').slice(-digits)
  const node = randomBits(clock, 48) | (1n << 40n)
  return [
    hex(ticks & 0xffff_ffffn, 8),
    hex((ticks >> 32n) & 0xffffn, 4),
    hex(0x1000n | ((ticks >> 48n) & 0xfffn), 4),
    hex(0x8000n | randomBits(clock, 14), 4),
    hex(node, 12),
  ].join('-')
}

/** A time-ordered id: milliseconds since 2010-11-04, ten bits of node, twelve of sequence. */
function snowflake(clock: Clock): string {
  sequence = (sequence + 1) % 4096
  return String(((BigInt(Math.floor(clock.now())) - 1_288_834_974_657n) << 22n) | (1n << 12n) | BigInt(sequence))
}

export const otherFunctions: readonly ScalarFunction[] = [
  defineScalar({
    name: 'isnull',
    family,
    args: [any('x')],
    nulls: 'custom',
    docs: 'Whether x is null. Empty texts, arrays and objects are not.',
    examples: [
      { expression: 'isnull(a)', row: { a: null }, result: true },
      { expression: 'isnull("")', result: false },
    ],
    returns: 'bool',
    run: ([x]) => x === null,
  }),
  defineScalar({
    name: 'coalesce',
    family,
    args: [any('x', { variadic: true })],
    nulls: 'custom',
    docs: 'The first argument that is not null; null when all are.',
    examples: [{ expression: 'coalesce(a, b, "x")', row: { a: null, b: 2n }, result: 2n }],
    validate: (args) => (args.length === 0 ? 'The arguments should be at least one.' : null),
    run: (args) => args.find((arg) => arg !== null) ?? null,
  }),
  defineScalar({
    name: 'newuuid',
    family,
    args: [],
    nulls: 'custom',
    deterministic: false,
    docs: 'A new time-based UUID (version 1).',
    examples: [{ expression: 'length(newuuid())', result: 36n }],
    returns: 'string',
    run: (_, call) => uuid(call.clock),
  }),
  defineScalar({
    name: 'tstamp',
    family,
    args: [],
    nulls: 'custom',
    deterministic: false,
    docs: 'The current time in epoch milliseconds.',
    examples: [{ expression: 'isnull(tstamp())', result: false }],
    returns: 'int64',
    run: (_, call) => BigInt(Math.floor(call.clock.now())),
  }),
  defineScalar({
    name: 'rule_id',
    family,
    args: [],
    nulls: 'custom',
    docs: 'The id of the running rule.',
    examples: [{ expression: 'isnull(rule_id())', result: false }],
    returns: 'string',
    run: (_, call) => call.ruleId,
  }),
  defineScalar({
    name: 'rule_start',
    family,
    args: [],
    nulls: 'custom',
    deterministic: false,
    docs: 'When the rule started, in epoch milliseconds.',
    examples: [{ expression: 'isnull(rule_start())', result: false }],
    returns: 'int64',
    run: (_, call) => BigInt(Math.floor(call.ruleStart)),
  }),
  defineScalar({
    name: 'props',
    family,
    args: [text('name')],
    deterministic: false,
    docs: 'A property of the engine by its lower-case name; "et" is the current time in milliseconds and "snowflake" a new time-ordered id, both as text.',
    examples: [{ expression: 'length(props("et"))', result: 1n }],
    returns: 'string',
    run: ([name], call) => {
      if (typeof name !== 'string') {
        throw new RowError(`invalid input ${goText(name)}: must be property name of string type`)
      }
      if (name === 'et') return String(Math.floor(call.clock.now()))
      if (name === 'snowflake') return snowflake(call.clock)
      const value = getField(call.props, name)
      if (value === undefined) throw new RowError('')
      return value
    },
  }),
  defineScalar({
    name: 'bypass',
    family: 'internal',
    args: [any('x', { variadic: true })],
    nulls: 'custom',
    docs: 'Its first argument, unchanged. The planner uses it to stand for values computed earlier.',
    examples: [{ expression: 'bypass(a)', row: { a: 1n }, result: 1n }],
    validate: () => null,
    run: ([x]) => x ?? null,
  }),
  defineScalar({
    name: 'delay',
    family,
    args: [num('ms'), any('value')],
    deterministic: false,
    docs: 'The value after a pause of that many milliseconds (at most a minute), during which the engine does nothing else. Meant for tests.',
    examples: [{ expression: 'delay(0, "x")', result: 'x' }],
    run: ([ms, value]) => {
      const wait = Number(toInt(ms as Value, 'sameKind'))
      if (wait > MAX_DELAY_MS) throw new RowError(`a delay must not be longer than ${MAX_DELAY_MS} ms`, 'LIMIT')
      if (wait > 0) pause(wait)
      return value as Value
    },
  }),
  defineScalar({
    name: 'get_keyed_state',
    family,
    args: [any('key'), text('type'), any('default')],
    nulls: 'custom',
    deterministic: false,
    docs: 'The value stored under the key in the shared keyed state, converted as by cast(); the default when there is none.',
    examples: [{ expression: 'get_keyed_state("missing", "bigint", 7)', result: 7n }],
    validate: (args) => {
      const wrong =
        expectCount(3, args.length) ??
        checkLiterals([any('key'), text('type', { numberInMessage: 1 }), any('default')], args)
      if (wrong !== null) return wrong
      const type = args[1]
      return type?.literal === 'string' && !stateTypes.some((t) => t === type.value)
        ? `expect one of following value for the 2nd parameter: ${stateTypes.join(', ')}`
        : null
    },
    run: ([key, type, fallback], call) => {
      if (typeof key !== 'string') throw new RowError(`key ${goText(key)} is not a string`)
      const stored = call.keyedState.get(key)
      return stored === undefined ? (fallback as Value) : castTo(stored, type as Value, timeContext(call))
    },
  }),
]
