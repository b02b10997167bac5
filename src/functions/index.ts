/** Every built-in function: one explicit list of families. */
import type { FunctionDefinition, FunctionLookup } from './contract.ts'
import { datetimeFunctions } from './datetime.ts'
import { hashFunctions } from './hash.ts'
import { jsonFunctions } from './json.ts'
import { mathFunctions } from './math.ts'
import { otherFunctions } from './other.ts'
import { regexpFunctions } from './regexp.ts'
import { stringFunctions } from './string.ts'
import { transformFunctions } from './transform.ts'

const families: readonly (readonly FunctionDefinition[])[] = [
  mathFunctions,
  stringFunctions,
  regexpFunctions,
  hashFunctions,
  datetimeFunctions,
  transformFunctions,
  jsonFunctions,
  otherFunctions,
]

const all: readonly FunctionDefinition[] = families.flat()

const byName = new Map<string, FunctionDefinition>()
for (const def of all) {
  for (const name of [def.name, ...(def.aliases ?? [])]) {
    if (byName.has(name)) throw new Error(`function ${name} is defined twice`)
    // Messages name the function as it was called.
    byName.set(name, name === def.name ? def : { ...def, name })
  }
}

/** The built-in of a name, in any case. An alias gives the same definition under the alias. */
export const builtinFunctions: FunctionLookup = (name) => byName.get(name) ?? byName.get(name.toLowerCase())

/** Every definition once, in the order of the reference pages. */
export function listFunctions(): readonly FunctionDefinition[] {
  return all
}
