/** Random SQL values for the property tests of functions. */
import fc from 'fast-check'
import { manualClock } from '../../src/core/clock.ts'
import { Instant, setField, type Value, type ValueObject } from '../../src/core/values.ts'
import type { CallContext } from '../../src/functions/contract.ts'

const awkwardKeys = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'key', 'value', 'a', '$ref', '']

const int64 = fc.oneof(
  fc.bigInt({ min: -5n, max: 5n }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 9007199254740993n),
)

const float64 = fc.oneof(
  fc.integer({ min: -5, max: 5 }),
  fc.double(),
  fc.constantFrom(Number.NaN, Infinity, -Infinity, -0, 1e300, 2 ** 63),
)

const text = fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('', '1', 'true', 'a', ...awkwardKeys))

const scalar: fc.Arbitrary<Value> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  int64,
  float64,
  text,
  fc.uint8Array({ maxLength: 4 }),
  fc.integer({ min: 0, max: 2_000_000_000 }).map((s) => new Instant(s * 1000)),
)

function objectOf(member: fc.Arbitrary<Value>): fc.Arbitrary<ValueObject> {
  const key = fc.oneof(fc.constantFrom(...awkwardKeys), fc.string({ maxLength: 3 }))
  return fc.array(fc.tuple(key, member), { maxLength: 4 }).map((members) => {
    const object: ValueObject = {}
    for (const [name, value] of members) setField(object, name, value)
    return object
  })
}

export const values: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    objectOf(tie('value')),
  ),
})).value

export const scalars = scalar
export const integers = int64

/** Values of a column: of one kind with nulls, or anything. */
export const columns: fc.Arbitrary<Value[]> = fc.oneof(
  fc.array(fc.option(int64)),
  fc.array(fc.option(float64)),
  fc.array(fc.option(text)),
  fc.array(fc.option(objectOf(scalar))),
  fc.array(values),
)

export function callForTests(): CallContext {
  return {
    clock: manualClock({ start: 1_600_000_000_000 }),
    timezone: 'UTC',
    ruleId: 'rule',
    ruleStart: 0,
    row: null,
    window: null,
    keyedState: { get: () => undefined },
    props: {},
  }
}
