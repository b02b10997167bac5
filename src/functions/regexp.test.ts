import { expect, test } from 'vitest'
import { manualClock } from '../core/clock.ts'
import type { Value } from '../core/values.ts'
import { applyScalar } from './call.ts'
import type { CallContext, ScalarFunction } from './contract.ts'
import { builtinFunctions } from './index.ts'

const call: CallContext = {
  clock: manualClock(),
  timezone: 'UTC',
  ruleId: 'r',
  ruleStart: 0,
  row: null,
  window: null,
  keyedState: { get: () => undefined },
  props: {},
}
const run = (name: string, ...args: Value[]): Value => applyScalar(builtinFunctions(name) as ScalarFunction, args, call)

test.each([
  ['abc', '', '-', '-a-b-c-'],
  ['baaac', 'a*', 'x', 'xbxcx'],
  ['ab', '(a)(b)', '$2$1', 'ba'],
  ['ab', '(a)(b)', '$1x', ''],
  ['ab', '(?P<n>a)', '<$n>', '<a>b'],
  ['ab', 'a', '$$', '$b'],
  ['ab', 'a', '\\0', '\\0b'],
  ['ab', 'a', '$é', 'b'],
  ['日本', '本', 'x', '日x'],
])('replacing in %j each %j by %j gives %j', (text, pattern, replacement, result) => {
  expect(run('regexp_replace', text, pattern, replacement)).toBe(result)
})

test('a hostile pattern is linear, not exponential', () => {
  expect(run('regexp_matches', `${'a'.repeat(50_000)}!`, '^(a+)+$')).toBe(false)
})

test.each([
  ['(', 'call func regexp_matches error: error parsing regexp: missing closing ): `(`'],
  ['(?=a)', 'error parsing regexp: invalid or unsupported Perl syntax: `(?=`'],
  ['\\', 'error parsing regexp: trailing backslash at end of expression: ``'],
])('the pattern %j is refused', (pattern, message) => {
  expect(() => run('regexp_matches', 'a', pattern)).toThrow(message)
})
