/** template.jsonl: data templates, selection of columns, the sink transform, dynamic properties, json paths. */
import { IxionError, messageOf } from '../../../src/core/errors.ts'
import { compileJsonPath } from '../../../src/core/json-path/index.ts'
import type { Value, ValueObject } from '../../../src/core/values.ts'
import { decodeJsonText } from '../../../src/formats/json.ts'
import { compileTemplate } from '../../../src/formats/template/compile.ts'
import { findTemplates, isTemplate } from '../../../src/formats/template/properties.ts'
import { createTransform, selected, type TransformItem, type TransformOptions } from '../../../src/formats/transform.ts'
import { type Case, type CaseRunner, fail, type Outcome, pass } from '../contract.ts'
import { fromTagged, sameValue, show } from '../values.ts'

const compile = (text: string) => compileTemplate(text, { now: () => 1_541_152_486_000, random: () => 0.5 })

interface Attempt {
  readonly value?: Value
  readonly error?: string
}

function attempt(run: () => Value): Attempt {
  try {
    return { value: run() }
  } catch (error) {
    if (!(error instanceof Error) || !(error instanceof IxionError || error.name === 'RowError')) throw error
    return { error: messageOf(error) }
  }
}

/** `error: true` fixes no text; the executed cases stem from another Go, so their texts may differ too. */
function compare(actual: Attempt, c: Case): Outcome {
  const message = c.error ?? c.parseError
  if (message !== undefined) {
    if (actual.error === undefined) return fail(`expected a failure, got ${show(actual.value)}`)
    if (message === true || c.id.startsWith('exec/')) return pass
    return actual.error === message ? pass : fail(`expected error ${message}, got ${actual.error}`)
  }
  if (actual.error !== undefined) return fail(`unexpected error ${actual.error}`)
  const expected = fromTagged(c.output)
  return sameValue(actual.value, expected) ? pass : fail(`expected ${show(expected)}, got ${show(actual.value)}`)
}

/** Payload text stands for bytes that a template rendered. */
function inputOf(tagged: unknown): { data: Value; isText: boolean } {
  const text = (tagged as { $bytes_utf8?: string } | null)?.$bytes_utf8
  return text === undefined ? { data: fromTagged(tagged), isText: false } : { data: text, isText: true }
}

function fields(c: Case): Outcome {
  const { data, isText } = inputOf(c.input)
  const { dataField = '', fields: kept = [], excludeFields = [] } = c.config
  const selects = dataField !== '' || kept.length > 0 || excludeFields.length > 0
  if (!selects) return sameValue(data, inputOf(c.output).data) ? pass : fail('changed')
  return compare(
    attempt(() => selected(isText ? decodeJsonText(data as string) : data, dataField, kept, excludeFields)),
    c,
  )
}

function rowsOf(input: Case['input']): ValueObject[] {
  return (input.kind === 'row' ? [input.data] : input.rows).map(fromTagged)
}

/** An item in the shape of the recorded outputs. */
function shapeOf(item: TransformItem): Value {
  const properties = item.properties === undefined ? {} : { props: { ...item.properties } }
  switch (item.kind) {
    case 'nothing':
      return null
    case 'error':
      return { $error: item.error.message }
    case 'row':
      return { kind: 'row', data: item.row, ...properties }
    case 'list':
      return { kind: 'list', rows: [...item.rows], ...properties }
    case 'text':
      return { kind: 'raw', utf8: item.text, ...properties }
  }
}

function sinkTransform(c: Case): Outcome {
  const transform = createTransform({ ...(c.config as TransformOptions), templates: c.propTemplates ?? [] }, compile)
  for (const [i, step] of c.steps.entries()) {
    const actual = transform(rowsOf(step.input)).map(shapeOf)
    const expected = step.outputs.map((o: Record<string, unknown> | null) =>
      o !== null && '$error' in o ? o : fromTagged(o),
    )
    const compared = step.onlyFirst === undefined ? actual : actual.slice(0, step.onlyFirst)
    if (!sameValue(compared, expected)) return fail(`step ${i}: expected ${show(expected)}, got ${show(compared)}`)
  }
  return pass
}

export const run: CaseRunner = (c) => {
  switch (c.op) {
    case 'template':
      return compare(
        attempt(() => compile(c.template)(fromTagged(c.input))),
        c,
      )
    case 'prop':
      return compare(
        attempt(() => (isTemplate(c.template) ? compile(c.template)(fromTagged(c.input)) : c.template)),
        c,
      )
    case 'jsonpath': {
      const actual = attempt(() => compileJsonPath(c.path).evaluate(fromTagged(c.input)))
      // The recorded driver takes a failed evaluation for "no value".
      return compare(actual.error !== undefined && c.output === null ? { value: null } : actual, c)
    }
    case 'find-templates': {
      const found = [...new Set(findTemplates(fromTagged(c.config) as ValueObject).values())].sort()
      return compare({ value: found }, c)
    }
    case 'fields':
      return fields(c)
    case 'sink-transform':
      return sinkTransform(c)
    case 'sink-config': {
      const sliceTuples = c.options?.experiment?.useSliceTuple === true
      return compare(
        attempt(() => {
          createTransform(c.config, compile, { sliceTuples })
          return null
        }),
        c,
      )
    }
    default:
      return fail(`not built: ${c.op}`)
  }
}
