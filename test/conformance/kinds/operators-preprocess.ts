/** operators.jsonl, op `preprocess`: JSON decoded without types, then the check of the stream's definition and its event time. */
import { messageOf } from '../../../src/core/errors.ts'
import type { ValueObject } from '../../../src/core/values.ts'
import { decodeJsonText } from '../../../src/formats/json.ts'
import { createTimestampReader, createValidator } from '../../../src/formats/schema-check.ts'
import { builtinFunctions } from '../../../src/functions/index.ts'
import { parseStatement } from '../../../src/sql/index.ts'
import { type Case, fail, type Outcome, pass } from '../contract.ts'
import { fromTagged, sameValue, show } from '../values.ts'

const options = { functions: builtinFunctions }

export function runPreprocess(c: Case): Outcome {
  const statement = parseStatement(c.stream, options)
  if (statement.kind !== 'createStream') return fail(`not a CREATE STREAM: ${c.stream}`)
  const expected = c.expect
  let row: ValueObject
  let ts: number | undefined
  try {
    row = decodeJsonText(c.json) as ValueObject
    const zone = c.timezone === undefined || c.timezone === 'Local' ? 'UTC' : c.timezone
    // The recorded cases ran without a configuration, where columns match in any case.
    const validate = createValidator(statement, null, { ignoreCase: true, zone })
    if (validate) row = validate(row)
    if (c.isEventTime) ts = createTimestampReader(statement, { zone })(row)
  } catch (error) {
    const message = messageOf(error)
    return message === expected.$error ? pass : fail(`failed: ${message}, expected ${JSON.stringify(expected)}`)
  }
  if (expected.$error !== undefined) return fail(`gave ${show(row)}, expected error ${expected.$error}`)
  if (expected.ts !== undefined && ts !== expected.ts) return fail(`event time ${ts}, expected ${expected.ts}`)
  const wanted = fromTagged(expected.row)
  return sameValue(row, wanted) ? pass : fail(`gave ${show(row)}, expected ${show(wanted)}`)
}
