/**
 * Templates and what the reference's engine (Go text/template with its functions) made of them, as facts:
 * every function, the awkward corners of the language, and random combinations.
 */
import { expect, it } from 'vitest'
import { fromTagged } from '../../../test/conformance/values.ts'
import { IxionError, RowError } from '../../core/errors.ts'
import { compileTemplate } from './compile.ts'
import recorded from './reference-cases.json' with { type: 'json' }

const input = fromTagged(recorded.input)

function outcome(template: string): { output: string } | { error: Error } {
  try {
    return { output: compileTemplate(template, { now: () => 1_541_152_486_000, random: () => 0.5 })(input) }
  } catch (error) {
    if (error instanceof RowError || error instanceof IxionError) return { error }
    throw error
  }
}

it.each(recorded.cases)('gives what the reference gives: $template', ({ template, output, fails }) => {
  const actual = outcome(template)
  if (fails === undefined) expect(actual).toEqual({ output })
  else expect(actual).toHaveProperty('error')
})
