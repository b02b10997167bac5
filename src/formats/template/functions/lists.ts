/** List functions of sprig. None changes its argument. */
import { define, type FunctionTable, type Run, refuse, type TemplateFunction } from '../function.ts'
import { isEmpty, sameDeep, typed, typeName, type V } from '../values.ts'
import { elements, toInt64 } from './convert.ts'

function contains(list: readonly V[], value: V, run: Run): boolean {
  run.charge(list.length / 8)
  return list.some((v) => sameDeep(v, value))
}

/** A part of a list has the list's type. */
function sameType(list: V, part: V[]): V[] {
  const type = typeName(list)
  return type === '[]interface {}' ? part : typed(type, part)
}

function slice(list: V, indexes: readonly V[]): V {
  const all = elements(list, 'list should be type of slice or array but')
  if (all.length === 0) return null
  const from = Number(toInt64(indexes[0]))
  const to = indexes.length < 2 ? all.length : Number(toInt64(indexes[1]))
  if (from < 0 || to > all.length || from > to) refuse('reflect.Value.Slice: slice index out of bounds')
  return sameType(list, all.slice(from, to))
}

function chunk(size: number, list: V): V {
  const all = elements(list, 'Cannot chunk type')
  if (size <= 0) refuse('runtime error: makeslice: len out of range')
  const chunks: V[] = []
  for (let i = 0; i < all.length; i += size) chunks.push(all.slice(i, i + size))
  return typed('[][]interface {}', chunks)
}

function unique(list: V, run: Run): V[] {
  const kept: V[] = []
  for (const v of elements(list, 'Cannot find uniq on type')) if (!contains(kept, v, run)) kept.push(v)
  return kept
}

const append = define('any any', ([list, value]) => [...elements(list, 'Cannot push on type'), value])
const prepend = define('any any', ([list, value]) => [value, ...elements(list, 'Cannot prepend on type')])

/** Plain form and `must` form: here both refuse the same way. */
function both(name: string, f: TemplateFunction): FunctionTable {
  return { [name]: f, [`must${name[0]?.toUpperCase()}${name.slice(1)}`]: f }
}

const list = define('...any', (values) => values)

export const listFunctions: FunctionTable = {
  list,
  tuple: list,
  ...both('append', append),
  ...both('push', append),
  ...both('prepend', prepend),
  ...both(
    'first',
    define('any', ([value]) => elements(value, 'Cannot find first on type')[0] ?? null),
  ),
  ...both(
    'last',
    define('any', ([value]) => elements(value, 'Cannot find last on type').at(-1) ?? null),
  ),
  ...both(
    'rest',
    define('any', ([value]) => elements(value, 'Cannot find rest on type').slice(1)),
  ),
  ...both(
    'initial',
    define('any', ([value]) => elements(value, 'Cannot find initial on type').slice(0, -1)),
  ),
  ...both(
    'reverse',
    define('any', ([value]) => elements(value, 'Cannot find reverse on type').toReversed()),
  ),
  ...both(
    'uniq',
    define('any', ([value], run) => unique(value, run)),
  ),
  ...both(
    'compact',
    define('any', ([value]) => elements(value, 'Cannot compact on type').filter((v) => !isEmpty(v))),
  ),
  ...both(
    'without',
    define('any ...any', ([value, ...omitted], run) =>
      elements(value, 'Cannot find without on type').filter((v) => !contains(omitted, v, run)),
    ),
  ),
  ...both(
    'has',
    define('any any', ([needle, value], run) =>
      value === null ? false : contains(elements(value, 'Cannot find has on type'), needle, run),
    ),
  ),
  ...both(
    'slice',
    define('any ...any', ([value, ...indexes]) => slice(value, indexes)),
  ),
  ...both(
    'chunk',
    define('int any', ([size, value]) => chunk(size, value)),
  ),
  concat: define('...any', (lists: V[], run) => {
    const all: V[] = []
    for (const l of lists) {
      const part = elements(l, 'Cannot concat type', ' as list')
      run.charge(part.length / 8)
      for (const v of part) all.push(v)
    }
    return all
  }),
}
