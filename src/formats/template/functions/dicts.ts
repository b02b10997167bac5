/** Map functions of sprig. `set`, `unset` and the merges change their first argument, as in Go. */
import { define, type FunctionTable, type Run, refuse } from '../function.ts'
import { sortedKeys } from '../print.ts'
import {
  type Dict,
  deepCopy,
  isDict,
  isEmpty,
  MAX_VALUE_DEPTH,
  member,
  setMember,
  tooDeep,
  typeName,
  type V,
} from '../values.ts'
import { textList, toText } from './convert.ts'

/** A nil map reads as empty. */
const entries = (dict: Dict | undefined): Dict => dict ?? {}

const has = (dict: Dict | undefined, key: string): boolean => dict !== undefined && Object.hasOwn(dict, key)

/** A nil map cannot be written. */
function writable(dict: Dict | undefined): Dict {
  return dict ?? refuse('assignment to entry in nil map')
}

function dictOf(pairs: readonly V[], run: Run): Dict {
  const result: Dict = {}
  for (let i = 0; i < pairs.length; i += 2)
    setMember(result, toText(pairs[i], run), i + 1 < pairs.length ? pairs[i + 1] : '')
  return result
}

/** Fills `target` from `source`: what is missing or empty there, or (`overwrites`) everything that is not a map in both. */
function mergeInto(target: Dict, source: Dict, overwrites: boolean, run: Run, depth = 0): void {
  if (depth > MAX_VALUE_DEPTH) tooDeep()
  for (const key of Object.keys(source)) {
    run.charge(1)
    const value = member(source, key)
    const old = member(target, key)
    if (value == null) {
      if (overwrites) setMember(target, key, null)
    } else if (isDict(value) && isDict(old)) mergeInto(old, value, overwrites, run, depth + 1)
    else if (overwrites || isEmpty(old)) setMember(target, key, value)
  }
}

function merge(overwrites: boolean): (args: readonly (Dict | undefined)[], run: Run) => V {
  return ([target, ...sources], run) => {
    const result = entries(target)
    for (const source of sources) if (source !== undefined) mergeInto(result, source, overwrites, run)
    return result
  }
}

function wrongInterface(value: V, wanted: string): never {
  return refuse(`interface conversion: interface {} is ${value == null ? 'nil' : typeName(value)}, not ${wanted}`)
}

function dig(args: readonly V[]): V {
  if (args.length < 3) refuse('dig needs at least three arguments')
  const fallback = args.at(-2)
  let found: V = args.at(-1)
  for (const key of args.slice(0, -2)) {
    if (!isDict(found)) return wrongInterface(found, 'map[string]interface {}')
    if (typeof key !== 'string') return wrongInterface(key, 'string')
    if (!has(found, key)) return fallback
    found = member(found, key)
  }
  return found
}

function picked(dict: Dict | undefined, keys: Iterable<string>): Dict {
  const result: Dict = {}
  for (const key of keys) if (has(dict, key)) setMember(result, key, member(dict as Dict, key))
  return result
}

const copy = define('any', ([value], run) => {
  run.charge(1)
  return deepCopy(value)
})

export const dictFunctions: FunctionTable = {
  deepCopy: copy,
  dict: define('...any', dictOf),
  dig: define('...any', dig),
  get: define('dict string', ([dict, key]) => (has(dict, key) ? member(dict, key) : '')),
  hasKey: define('dict string', ([dict, key]) => has(dict, key)),
  keys: define('...dict', (dicts) => textList(dicts.flatMap((d: Dict | undefined) => sortedKeys(entries(d))))),
  merge: define('dict ...dict', merge(false), true),
  mergeOverwrite: define('dict ...dict', merge(true), true),
  mustDeepCopy: copy,
  mustMerge: define('dict ...dict', merge(false), true),
  mustMergeOverwrite: define('dict ...dict', merge(true), true),
  omit: define('dict ...string', ([dict, ...keys]) =>
    picked(
      dict,
      Object.keys(entries(dict)).filter((k) => !keys.includes(k)),
    ),
  ),
  pick: define('dict ...string', ([dict, ...keys]) => picked(dict, keys)),
  pluck: define('string ...dict', ([key, ...dicts]) =>
    dicts.filter((d: Dict | undefined) => has(d, key)).map((d: Dict) => member(d, key)),
  ),
  set: define(
    'dict string any',
    ([dict, key, value]) => {
      setMember(writable(dict), key, value)
      return dict
    },
    true,
  ),
  unset: define(
    'dict string',
    ([dict, key]) => {
      if (dict !== undefined) delete dict[key]
      return entries(dict)
    },
    true,
  ),
  values: define('dict', ([dict]) => sortedKeys(entries(dict)).map((k) => member(dict, k))),
}
