/** Defaults, choices, failure and type questions of sprig. */
import { define, type FunctionTable, refuse } from '../function.ts'
import { isEmpty, kindName, sameDeep, typeName, type V } from '../values.ts'

export const logicFunctions: FunctionTable = {
  all: define('...any', (values: V[]) => values.every((v) => !isEmpty(v))),
  any: define('...any', (values: V[]) => values.some((v) => !isEmpty(v))),
  coalesce: define('...any', (values: V[]) => values.find((v) => !isEmpty(v)) ?? null),
  deepEqual: define('any any', ([a, b]) => sameDeep(a, b)),
  default: define('any ...any', ([fallback, value]) => (isEmpty(value) ? fallback : value)),
  empty: define('any', ([value]) => isEmpty(value)),
  fail: define('string', ([message]) => refuse(message)),
  kindIs: define('string any', ([kind, value]) => kind === kindName(value)),
  kindOf: define('any', ([value]) => kindName(value)),
  prop: define('string', ([name], run) => run.property(name) ?? name),
  ternary: define('any any bool', ([yes, no, condition]) => (condition ? yes : no)),
  typeIs: define('string any', ([type, value]) => type === typeName(value)),
  typeIsLike: define('string any', ([type, value]) => type === typeName(value) || `*${type}` === typeName(value)),
  typeOf: define('any', ([value]) => typeName(value)),
}
