/** fast-check generators of trees the parser can produce, for the round-trip tests. */
import fc from 'fast-check'
import type {
  BinaryOperator,
  Expression,
  FieldType,
  Join,
  SelectField,
  SelectStatement,
  SortKey,
  StreamDefinition,
  StreamField,
  StreamOptions,
  Window,
} from './ast.ts'
import { nameOf } from './names.ts'

const at = { line: 1, column: 1 }
const SOURCES = ['demo', 't1', 'my-stream', 'a/b']

/** Names with keywords, blanks, quotes, other scripts; no backtick. */
const name = fc.oneof(
  fc.constantFrom(
    'a',
    'b',
    'temp_1',
    'select',
    'SS',
    'null',
    'NULL',
    'is',
    'outer',
    'my col',
    '温度',
    '',
    'x"y',
    "it's",
  ),
  fc.string({ unit: 'grapheme', maxLength: 6 }).map((s) => s.replaceAll('`', '_')),
)
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('', '\\', '"', "'", '\n\t\0', '\ud800'),
)
const sourceName = fc.constantFrom(...SOURCES)

const column: fc.Arbitrary<Expression> = fc
  .tuple(fc.option(sourceName), name)
  .map(([stream, name]) => ({ kind: 'column', stream, name, at }))
const literal: fc.Arbitrary<Expression> = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value): Expression => ({ kind: 'integer', value, at })),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value): Expression => ({ kind: 'float', value, at })),
  text.map((value): Expression => ({ kind: 'string', value, at })),
  fc.boolean().map((value): Expression => ({ kind: 'boolean', value, at })),
  fc.constantFrom('dd', 'hh', 'mi', 'ss', 'ms').map((unit): Expression => ({ kind: 'timeUnit', unit, at })),
  fc.constant<Expression>({ kind: 'null', at }),
  fc.constant<Expression>({ kind: 'null', written: 'Null', at }),
)
const metaRoot: fc.Arbitrary<Expression> = fc.oneof(
  name.map((key): Expression => ({ kind: 'meta', stream: null, key, at })),
  fc.tuple(sourceName, name).map(([stream, key]): Expression => ({ kind: 'meta', stream, key, at })),
  fc.constant<Expression>({ kind: 'meta', stream: null, key: '*', at }),
)
const metaPath = fc
  .tuple(metaRoot, fc.array(name, { maxLength: 2 }))
  .map(([root, keys]) => keys.reduce<Expression>((object, key) => ({ kind: 'member', object, key, at }), root))

const operatorsOfLevel: Record<number, readonly BinaryOperator[]> = {
  1: ['OR'],
  2: ['AND'],
  3: ['=', '!=', '<', '<=', '>', '>='],
  4: ['+', '-', '|', '^'],
  5: ['*', '/', '%', '&'],
}

/** Call ids count in parse order, so they are given once the whole statement is there. */
const CALL_ID = -1

const call = (name: string, args: readonly Expression[], more: object = {}): Expression => ({
  kind: 'call',
  name,
  args,
  partition: [],
  when: null,
  order: [],
  id: CALL_ID,
  at,
  ...more,
})

const wholeRow: Expression = { kind: 'wildcard', stream: null, except: [], replace: [], at }

/** An expression whose outermost operator binds at least as tightly as `level`; 6 is an operand. */
function expression(depth: number, level = 1): fc.Arbitrary<Expression> {
  if (depth <= 0) return fc.oneof(column, literal)
  const inner = (l: number) => expression(depth - 1, l)
  const choices: fc.Arbitrary<Expression>[] = [
    column,
    literal,
    inner(1).map((expression): Expression => ({ kind: 'parenthesis', expression, at })),
    fc
      .tuple(
        fc.option(inner(1)),
        fc.array(fc.tuple(condition(depth - 1), inner(1)), { minLength: 1, maxLength: 2 }),
        fc.option(inner(1)),
      )
      .map(
        ([value, branches, otherwise]): Expression => ({
          kind: 'case',
          value,
          branches: branches.map(([when, then]) => ({ when, then })),
          otherwise,
          at,
        }),
      ),
    fc
      .tuple(fc.constantFrom('coalesce', 'myFunc', 'ceiling'), fc.array(inner(1), { maxLength: 3 }))
      .map(([n, args]) => call(n, args)),
    metaPath.map((arg) => call('meta', [arg])),
    fc.tuple(inner(1), inner(1)).map((args) => call('deduplicate', [wholeRow, ...args])),
    fc
      .tuple(inner(1), fc.array(inner(1), { maxLength: 2 }), fc.option(inner(1)))
      .map(([arg, partition, when]) => call('lag', [arg], { partition, when })),
    fc.constant(call('row_number', [])),
  ]
  if (level <= 5) {
    choices.push(
      fc
        .tuple(inner(5), name)
        .map(([object, key]): Expression => ({ kind: 'member', object: opened(object), key, at })),
      fc
        .tuple(inner(5), inner(1))
        .map(([object, index]): Expression => ({ kind: 'index', object: opened(object), index, at })),
      fc
        .tuple(inner(5), fc.option(inner(1)), fc.option(inner(1)))
        .map(([object, start, end]): Expression => ({ kind: 'slice', object: opened(object), start, end, at })),
    )
  }
  if (level <= 3) choices.push(condition(depth))
  for (let l = level; l <= 5; l++) {
    choices.push(
      fc.tuple(fc.constantFrom(...(operatorsOfLevel[l] as BinaryOperator[])), inner(l), inner(l + 1)).map(
        ([operator, left, right]): Expression => ({
          kind: 'binary',
          operator,
          left,
          right: afterMinus(operator, right),
          at,
        }),
      ),
    )
  }
  return fc.oneof(...choices)
}

/** `null->k` means a column: the literal cannot be opened up. */
function opened(object: Expression): Expression {
  const last = object.kind === 'binary' ? object.right : object
  return last.kind === 'null' ? { kind: 'column', stream: null, name: 'a', at } : object
}

/** `- -1` would be a comment: a negative number cannot follow a minus sign. */
function afterMinus(operator: BinaryOperator, right: Expression): Expression {
  if (operator !== '-') return right
  let first = right
  for (;;) {
    if (first.kind === 'binary' || first.kind === 'like' || first.kind === 'in') first = first.left
    else if (first.kind === 'member' || first.kind === 'index' || first.kind === 'slice') first = first.object
    else break
  }
  const negative =
    (first.kind === 'integer' && first.value < 0n) ||
    (first.kind === 'float' && (first.value < 0 || Object.is(first.value, -0)))
  return negative ? { kind: 'boolean', value: true, at } : right
}

/** A condition by its form, which also binds at level 3. */
function condition(depth: number): fc.Arbitrary<Expression> {
  const inner = (l: number) => expression(depth - 1, l)
  const negated = fc.boolean()
  return fc.oneof(
    fc
      .tuple(negated, inner(3), fc.array(inner(1), { minLength: 1, maxLength: 3 }))
      .map(([negated, left, list]): Expression => ({ kind: 'in', negated, left, list, array: null, at })),
    fc
      .tuple(negated, inner(3), column)
      .map(([negated, left, array]): Expression => ({ kind: 'in', negated, left, list: null, array, at })),
    fc
      .tuple(negated, inner(3), inner(6), inner(6))
      .map(([negated, value, low, high]): Expression => ({ kind: 'between', negated, value, low, high, at })),
    fc
      .tuple(negated, inner(3), inner(4))
      .map(([negated, left, pattern]): Expression => ({ kind: 'like', negated, left, pattern, at })),
    fc.tuple(negated, inner(3)).map(([negated, operand]): Expression => ({ kind: 'isNull', negated, operand, at })),
  )
}

export const anyExpression = expression(4)

const wildcard: fc.Arbitrary<Expression> = fc
  .tuple(
    fc.option(sourceName),
    fc.array(name, { maxLength: 2 }),
    fc.array(fc.tuple(expression(1), name), { maxLength: 2 }),
  )
  .map(([stream, except, replace]) => ({
    kind: 'wildcard',
    stream,
    except,
    replace: replace.map(([expression, name]) => ({ expression, name })),
    at,
  }))

interface RawField {
  readonly expression: Expression
  readonly alias: string | null
  readonly invisible: boolean
}
const field: fc.Arbitrary<RawField> = fc.oneof(
  fc.record({ expression: expression(3), alias: fc.option(name), invisible: fc.boolean() }),
  fc.record({ expression: wildcard, alias: fc.constant(null), invisible: fc.boolean() }),
  fc.array(expression(1), { minLength: 3, maxLength: 4 }).map((args) => ({
    expression: call('changed_cols', args, { columnNames: args.map(nameOf) }),
    alias: null,
    invisible: false,
  })),
)

/** Without row_number, which stands in the field list only. */
const clauseExpression = expression(3).filter(
  (e) => !JSON.stringify(e, (_, v) => (typeof v === 'bigint' ? null : v)).includes('"row_number"'),
)
const noAggregate = clauseExpression.filter(
  (e) => !JSON.stringify(e, (_, v) => (typeof v === 'bigint' ? null : v)).includes('"deduplicate"'),
)

const count = fc.integer({ min: 1, max: 1000 })
const window: fc.Arbitrary<Window> = fc
  .tuple(
    fc.oneof(
      fc
        .tuple(fc.constantFrom('dd', 'hh', 'mi', 'ss', 'ms'), count)
        .map(([unit, length]) => ({ kind: 'tumbling' as const, unit, length, interval: 0, delay: 0 })),
      fc
        .tuple(fc.constantFrom('hopping' as const, 'session' as const), fc.constantFrom('ss', 'ms'), count, count)
        .map(([kind, unit, length, interval]) => ({ kind, unit, length, interval, delay: 0 })),
      fc
        .tuple(count, fc.nat(9))
        .map(([length, delay]) => ({ kind: 'sliding' as const, unit: 'ss', length, interval: 0, delay })),
      count.map((length) => ({ kind: 'count' as const, unit: null, length, interval: 0, delay: 0 })),
      count.map((length) => ({ kind: 'count' as const, unit: null, length, interval: length, delay: 0 })),
    ),
    fc.option(noAggregate),
    fc.option(noAggregate),
    fc.array(clauseExpression, { maxLength: 2 }),
  )
  .map(
    ([shape, filter, when, partition]) =>
      ({ ...shape, begin: null, emit: null, filter, when, partition, at }) as Window,
  )
const stateWindow: fc.Arbitrary<Window> = fc.tuple(noAggregate, fc.option(noAggregate)).map(([begin, emit]) => ({
  kind: 'state',
  unit: null,
  length: 0,
  interval: 0,
  delay: 0,
  begin,
  emit,
  filter: null,
  when: null,
  partition: [],
  at,
}))

const sortKey: fc.Arbitrary<SortKey> = fc.oneof(
  fc.tuple(fc.option(sourceName), name, fc.boolean()).map(([stream, name, ascending]): SortKey => {
    const expression: Expression = { kind: 'column', stream, name, at }
    return { expression, name, stream, ascending, at }
  }),
  fc.tuple(clauseExpression, fc.boolean()).map(([arg, ascending]): SortKey => {
    const expression: Expression = {
      kind: 'binary',
      operator: '+',
      left: call('coalesce', [arg]),
      right: { kind: 'integer', value: 1n, at },
      at,
    }
    return { expression, name: 'coalesce', stream: null, ascending, at }
  }),
  // s.k of an unknown s: a member access, its key named by the dotted form
  fc.tuple(fc.constantFrom('nested', 'no source'), name, fc.boolean()).map(([stream, name, ascending]): SortKey => {
    const object: Expression = { kind: 'column', stream: null, name: stream, at }
    return { expression: { kind: 'member', object, key: name, at }, name, stream, ascending, at }
  }),
)

/** Statements over the four sources: `demo` and `my-stream AS t1`, joined with `a/b`. */
export const anySelect: fc.Arbitrary<SelectStatement> = fc
  .record({
    fields: fc.array(field, { minLength: 1, maxLength: 4 }),
    joins: fc.record({ kind: fc.constantFrom('inner', 'left', 'right', 'full'), on: fc.option(clauseExpression) }),
    where: fc.option(clauseExpression),
    dimensions: fc.array(noAggregate, { maxLength: 2 }),
    window: fc.option(fc.oneof(window, stateWindow)),
    having: fc.option(clauseExpression),
    orderBy: fc.array(sortKey, { maxLength: 2 }),
    limit: fc.option(fc.integer({ min: -5, max: 1000 })),
  })
  .map((s): SelectStatement => {
    let unnamed = 0
    const source = (name: string, alias: string | null) => ({ name, alias, at })
    return {
      ...s,
      kind: 'select',
      from: source('demo', null),
      fields: s.fields.map(({ expression, alias, invisible }): SelectField => {
        const own = expression.kind === 'wildcard' ? '' : nameOf(expression)
        const numbered = own === '' && alias === null && expression.kind !== 'wildcard'
        return { expression, alias, invisible, name: numbered ? `kuiper_field_${unnamed++}` : own }
      }),
      joins: [
        { ...s.joins, source: source('my-stream', 't1'), at } as Join,
        { kind: 'cross', source: source('a/b', null), on: null, at },
      ],
    }
  })

const basicType = fc.constantFrom('bigint', 'float', 'string', 'bytea', 'datetime', 'boolean')
function fieldType(depth: number): fc.Arbitrary<FieldType> {
  const basic = basicType.map((kind): FieldType => ({ kind }))
  if (depth <= 0) return basic
  const inner = fieldType(depth - 1)
  return fc.oneof(
    basic,
    inner.map((element): FieldType => ({ kind: 'array', element })),
    fc
      .array(fc.record({ name, type: inner }), { minLength: 1, maxLength: 3 })
      .map((fields): FieldType => ({ kind: 'struct', fields })),
  )
}
const streamField: fc.Arbitrary<StreamField> = fc.oneof(
  fc.record({ name, type: fieldType(3) }),
  fc.record({
    name,
    type: fc.constant<FieldType>({ kind: 'bigint' }),
    default: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  }),
  fc.record({
    name,
    type: fc.constant<FieldType>({ kind: 'float' }),
    default: fc.double({ noNaN: true, noDefaultInfinity: true }),
  }),
  fc.record({ name, type: fc.constant<FieldType>({ kind: 'string' }), default: text }),
  fc.record({ name, type: fc.constant<FieldType>({ kind: 'boolean' }), default: fc.boolean() }),
)
const streamOptions = fc.record(
  {
    datasource: text,
    key: text.map((t) => `k${t}`),
    format: fc.constantFrom('json', 'DELIMITED', 'protobuf'),
    confKey: text,
    type: text,
    strictValidation: fc.boolean(),
    timestamp: text,
    retainSize: fc.nat(),
    shared: fc.boolean(),
    kind: fc.constantFrom('scan' as const, 'lookup' as const),
    extra: fc.json(),
    version: fc.constantFrom('1', 'v2'),
    delimiter: text,
    extensions: fc.constantFrom({ late_policy: 'side' }, { buffer_full_policy: 'block', idle_timeout: '5s' }),
  },
  { requiredKeys: ['key'] },
) as fc.Arbitrary<StreamOptions>

export const anyDefinition: fc.Arbitrary<StreamDefinition> = fc.record({
  kind: fc.constant('createStream' as const),
  streamType: fc.constantFrom('stream' as const, 'table' as const),
  name,
  fields: fc.option(fc.array(streamField, { minLength: 1, maxLength: 4 })),
  options: streamOptions,
})
