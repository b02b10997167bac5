/**
 * Functions about the row and its window (spec/functions.json categories other, window, aggregate). The evaluator or an
 * operator carries them out; here is what the parser, the planner and the reference pages need of them.
 */
import type { ArgumentInfo, SpecialFunction } from './contract.ts'
import { expectCount, expectType } from './helpers.ts'

function special(
  kind: SpecialFunction['kind'],
  options: Omit<SpecialFunction, 'kind' | 'family' | 'deterministic' | 'validate' | 'args'> & Partial<SpecialFunction>,
): SpecialFunction {
  return {
    family: kind === 'window' || kind === 'trigger' ? 'window' : 'other',
    deterministic: true,
    args: [],
    validate: (args) => expectCount(0, args.length),
    ...options,
    kind,
  }
}

const metaReference = { name: 'key', type: 'meta reference' }

/** meta() and mqtt() take a bare name, not a value. */
function checkReference({ literal }: ArgumentInfo): string | null {
  return literal === null ? null : expectType(0, 'meta reference')
}

const rowAndWindow: readonly SpecialFunction[] = [
  special('context', {
    name: 'window_start',
    docs: 'Where the window of the row starts, in epoch milliseconds; null outside a window.',
    examples: [{ expression: 'window_start()', row: {}, result: null }],
    returns: 'int64',
  }),
  special('context', {
    name: 'window_end',
    docs: 'Where the window of the row ends, in epoch milliseconds; null outside a window.',
    examples: [{ expression: 'window_end()', row: {}, result: null }],
    returns: 'int64',
  }),
  special('context', {
    name: 'window_trigger',
    docs: 'When the window of the row was triggered, in epoch milliseconds; null outside a window.',
    examples: [{ expression: 'window_trigger()', row: {}, result: null }],
    returns: 'int64',
  }),
  special('context', {
    name: 'event_time',
    docs: 'The time of the row in epoch milliseconds; in a window the time it was triggered.',
    examples: [{ expression: 'event_time()', row: {}, result: 0n }],
    returns: 'int64',
  }),
  special('context', {
    name: 'meta',
    args: [metaReference],
    docs: 'Metadata of the row by a bare name: meta(topic), meta(stream.key), meta(key->member), meta(*).',
    examples: [{ expression: 'meta(topic)', row: {}, result: null }],
    // Whether an expression is a path into the metadata is the parser's to see.
    validate: (args) => expectCount(1, args.length) ?? checkReference(args[0] as ArgumentInfo),
  }),
  special('context', {
    name: 'mqtt',
    args: [metaReference],
    docs: 'The topic or messageid of an MQTT message, by a bare name: mqtt(topic).',
    examples: [{ expression: 'mqtt(topic)', row: {}, result: null }],
    validate: (args) => {
      const count = expectCount(1, args.length)
      if (count !== null) return count
      const argument = args[0] as ArgumentInfo
      const key = argument.column?.toLowerCase()
      return (
        checkReference(argument) ??
        (key === undefined || key === 'topic' || key === 'messageid'
          ? null
          : 'Parameter of mqtt function can be only topic or messageid.')
      )
    },
  }),
  special('window', {
    name: 'row_number',
    docs:
      'The position of the row in its window, from 1; 1 outside a window. OVER(PARTITION BY ... ORDER BY ...) counts in each ' +
      'partition, in that order.',
    examples: [{ expression: 'row_number()', row: {}, result: 1n }],
    returns: 'int64',
  }),
]

const counters: readonly SpecialFunction[] = [
  special('state', {
    name: 'last_hit_count',
    docs: 'How often the condition it stands in held before this row; in the select list, how many rows were before this one.',
    examples: [{ expression: 'last_hit_count()', rows: [{}], result: [0n] }],
    returns: 'int64',
  }),
  special('state', {
    name: 'last_hit_time',
    docs: 'The time of the previous hit in epoch milliseconds, 0 before the first; see last_hit_count.',
    examples: [{ expression: 'last_hit_time()', rows: [{}], result: [0n] }],
    returns: 'int64',
  }),
  special('state', {
    name: 'last_agg_hit_count',
    family: 'aggregate',
    docs: 'How often HAVING was passed before by a group of this rule.',
    examples: [{ expression: 'last_agg_hit_count()', rows: [{}], result: [0n] }],
    returns: 'int64',
  }),
  special('state', {
    name: 'last_agg_hit_time',
    family: 'aggregate',
    docs: 'The trigger time of the previous pass of HAVING in epoch milliseconds, 0 before the first.',
    examples: [{ expression: 'last_agg_hit_time()', rows: [{}], result: [0n] }],
    returns: 'int64',
  }),
]

function checkDedupTrigger(args: readonly ArgumentInfo[]): string | null {
  if (args.length !== 4) return 'dedup_trigger function should have 4 arguments'
  const bad = args.slice(0, 3).findIndex(({ column }) => column === null)
  if (bad >= 0) return `dedup_trigger function should have fieldRef as the ${bad + 1} argument`
  return args[3]?.literal === 'int' ? null : 'dedup_trigger function should have integer as the fourth argument'
}

const dedupTrigger = special('trigger', {
  name: 'dedup_trigger',
  args: [
    { name: 'start', type: 'column' },
    { name: 'end', type: 'column' },
    { name: 'now', type: 'column' },
    { name: 'expire', type: 'int' },
  ],
  docs:
    'For rows that ask for an interval of time: the parts of [start, end) that no earlier row was given, as an array of ' +
    '{start_key, end_key}; null when all of it was. Rows wait until now reaches their end; expire is in milliseconds.',
  examples: [
    {
      expression: 'dedup_trigger(s, e, n, 1000)',
      rows: [
        { s: 1n, e: 3n, n: 5n },
        { s: 2n, e: 6n, n: 7n },
      ],
      result: [[{ start_key: '1', end_key: '3' }], [{ start_key: '3', end_key: '6' }]],
    },
  ],
  validate: checkDedupTrigger,
})

export const specialFunctions: readonly SpecialFunction[] = [...rowAndWindow, ...counters, dedupTrigger]
