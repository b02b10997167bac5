/** Every built-in function: one explicit list of families. */
import { aggregateFunctions } from './aggregate.ts'
import { analyticFunctions } from './analytic.ts'
import { arrayFunctions } from './array.ts'
import { compressionFunctions } from './compression.ts'
import type { FunctionDefinition, FunctionLookup } from './contract.ts'
import { datetimeFunctions } from './datetime.ts'
import { geohashFunctions } from './geohash.ts'
import { hashFunctions } from './hash.ts'
import { incrementalFunctions } from './incremental.ts'
import { jsonFunctions } from './json.ts'
import { jsonPathFunctions } from './json-path.ts'
import { mathFunctions } from './math.ts'
import { multiColumnFunctions } from './multi-column.ts'
import { objectFunctions } from './object.ts'
import { otherFunctions } from './other.ts'
import { regexpFunctions } from './regexp.ts'
import { setReturningFunctions } from './set-returning.ts'
import { specialFunctions } from './special.ts'
import { stringFunctions } from './string.ts'
import { transformFunctions } from './transform.ts'

/** By lower-case name. */
const byName = new Map<string, FunctionDefinition>()

/** The built-in of a name, in any case. An alias gives the same definition under the alias. */
export const builtinFunctions: FunctionLookup = (name) => byName.get(name.toLowerCase())

const families: readonly (readonly FunctionDefinition[])[] = [
  mathFunctions,
  stringFunctions,
  regexpFunctions,
  hashFunctions,
  datetimeFunctions,
  transformFunctions,
  compressionFunctions,
  jsonFunctions,
  jsonPathFunctions,
  arrayFunctions(builtinFunctions),
  objectFunctions,
  geohashFunctions,
  aggregateFunctions,
  analyticFunctions,
  incrementalFunctions,
  multiColumnFunctions,
  setReturningFunctions,
  specialFunctions,
  otherFunctions,
]

const all: readonly FunctionDefinition[] = families.flat()

for (const def of all) {
  for (const name of [def.name, ...(def.aliases ?? [])]) {
    const key = name.toLowerCase()
    if (byName.has(key)) throw new Error(`function ${name} is defined twice`)
    // Messages name the function as it was called.
    byName.set(key, name === def.name ? def : { ...def, name })
  }
}

/** Every definition once, in the order of the reference pages. */
export function listFunctions(): readonly FunctionDefinition[] {
  return all
}
