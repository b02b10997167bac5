/**
 * The sink transform (spec/sql.md 8.4, spec/connectors.md 4.2): from the rows of one result to what a sink sends.
 * Order: sendSingle -> dynamic properties -> dataTemplate -> dataField -> fields or excludeFields. Pure and synchronous;
 * a failure is an item of its own, so that one bad row does not take the others with it.
 */
import { IxionError, RowError } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { copyFields, getField, isObject, setField, type Value, type ValueObject } from '../core/values.ts'
import type { Template } from './template/compile.ts'
import { decodeGoJson } from './template/go-json.ts'
import type { CompileTemplate, RenderedProperties } from './template/properties.ts'

export interface TransformOptions {
  /** One output per row instead of one per result; default false. */
  readonly sendSingle?: boolean
  /** Drops empty results, and with sendSingle empty rows; default false. */
  readonly omitIfEmpty?: boolean
  readonly dataTemplate?: string
  readonly dataField?: string
  /** Kept columns in this order; a missing one becomes null. Not together with excludeFields. */
  readonly fields?: readonly string[]
  readonly excludeFields?: readonly string[]
  /** Default json. Rendered text goes out as it is for json, delimited and urlencoded. */
  readonly format?: string
  /** Texts of dynamic properties, from findTemplates. */
  readonly templates?: readonly string[]
}

/** One thing to send. `data` still has to be encoded, `text` is the payload. */
export type TransformItem = (
  | { readonly kind: 'row'; readonly row: ValueObject }
  | { readonly kind: 'list'; readonly rows: readonly ValueObject[] }
  | { readonly kind: 'text'; readonly text: string }
  /** Nothing was selected (dataField on an empty list or a row without it): an encoder refuses it. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'error'; readonly error: RowError }
) & {
  /** Rendered dynamic properties by template text; absent when there are none. */
  readonly properties?: RenderedProperties
}

/** Rows of one result: a single row of an un-windowed rule, or a window's (possibly empty) collection. */
export type Transform = (rows: readonly ValueObject[]) => TransformItem[]

/** Formats whose payload is text: a rendered dataTemplate is sent as it is (spec/connectors.md 4.2). */
const textFormats = new Set(['json', 'delimited', 'urlencoded'])

/**
 * Compiles a sink's transform. Throws IxionError INVALID_PROPERTY for contradicting options and templates that do not parse.
 * `compile` is compileTemplate with its options; it comes from outside so that a sink without templates does not load it.
 * `hasFields`: the sink takes `fields` itself (influx, sql), so nothing is selected here. `sliceTuples`: the rule runs with
 * `experiment.useSliceTuple`, which knows columns by position and refuses selections.
 */
export function createTransform(
  options: TransformOptions,
  compile: CompileTemplate,
  context: { readonly hasFields?: boolean; readonly sliceTuples?: boolean } = {},
): Transform {
  const fields = context.hasFields ? [] : (options.fields ?? [])
  const excludeFields = options.excludeFields ?? []
  if ((options.fields ?? []).length > 0 && excludeFields.length > 0) {
    throw new IxionError('INVALID_PROPERTY', 'field and excludeFields cannot both be set', { path: 'excludeFields' })
  }
  const dataField = options.dataField ?? ''
  if (context.sliceTuples) {
    const refused = fields.length > 0 ? 'fields' : dataField !== '' ? 'dataField' : null
    if (refused !== null) {
      const message = `slice tuple mode do not support sink ${refused} yet`
      throw new IxionError('INVALID_PROPERTY', message, { path: refused })
    }
  }
  const selects = dataField !== '' || fields.length > 0 || excludeFields.length > 0
  const select = (data: Value): Value => selected(data, dataField, fields, excludeFields)
  const render = options.dataTemplate ? compile(options.dataTemplate) : null
  const properties = (options.templates ?? []).map((text) => [text, compile(text)] as const)
  const sendsText = textFormats.has((options.format || 'json').toLowerCase())

  const transformed = (data: Value): TransformItem => {
    if (render === null) return itemOf(selects ? about(data, () => select(data)) : data)
    const text = rendered(render, data)
    if (selects) return itemOf(about(data, () => select(decoded(text))))
    if (sendsText) return { kind: 'text', text }
    return itemOf(parsed(text))
  }

  const output = (data: Value): TransformItem => {
    try {
      const dynamic = properties.length === 0 ? undefined : renderedProperties(properties, data)
      const item = transformed(data)
      return dynamic === undefined || item.kind === 'nothing' ? item : { ...item, properties: dynamic }
    } catch (error) {
      if (error instanceof RowError) return { kind: 'error', error }
      throw error
    }
  }

  return (rows) => {
    if (options.omitIfEmpty && rows.length === 0) return []
    if (!options.sendSingle) return [output(rows as ValueObject[])]
    const items: TransformItem[] = []
    for (const row of rows) {
      if (options.omitIfEmpty && Object.keys(row).length === 0) continue
      items.push(output(row))
    }
    return items
  }
}

function rendered(render: Template, data: Value): string {
  try {
    return render(data)
  } catch (error) {
    throw failed(error, `fail to encode data ${goText(data)} with dataTemplate for error `)
  }
}

function renderedProperties(templates: readonly (readonly [string, Template])[], data: Value): RenderedProperties {
  const result: Record<string, string> = {}
  for (const [text, render] of templates) {
    try {
      setField(result, text, render(data))
    } catch (error) {
      throw failed(error, `fail to calculate props ${text} through data ${goText(data)} with dataTemplate for error `)
    }
  }
  return result
}

function about(data: Value, run: () => Value): Value {
  try {
    return run()
  } catch (error) {
    throw failed(error, `fail to TransItem data ${goText(data)} for error `)
  }
}

function decoded(text: string): Value {
  try {
    return decodeGoJson(text)
  } catch (error) {
    throw failed(error, `fail to decode data ${text} for error `)
  }
}

function parsed(text: string): Value {
  try {
    return decodeGoJson(text)
  } catch (error) {
    throw failed(error, `fail to decode data ${text} after applying dataTemplate for error `)
  }
}

function failed(error: unknown, prefix: string): unknown {
  return error instanceof RowError
    ? new RowError(prefix + error.message, error.code === 'LIMIT' ? 'LIMIT' : 'ENCODE')
    : error
}

/** What is sent must be a row or a list of rows; null (a dataField that is not there) is nothing. */
function itemOf(value: Value): TransformItem {
  if (value === null) return { kind: 'nothing' }
  if (Array.isArray(value) && value.every(isObject)) return { kind: 'list', rows: value }
  if (isObject(value)) return { kind: 'row', row: value }
  throw new RowError(`invalid transform result type ${goText(value)}`, 'ENCODE')
}

/**
 * dataField, then fields or excludeFields. Throws RowError `unsupported type X` and the like. Rows are shared, so what is
 * taken away is taken from a copy.
 */
export function selected(
  data: Value,
  dataField: string,
  fields: readonly string[],
  excludeFields: readonly string[],
): Value {
  let input = data
  if (dataField !== '') {
    // Of a list only the first row counts.
    if (Array.isArray(input)) {
      const [first] = input
      if (first === undefined) return null
      input = isObject(first) ? (getField(first, dataField) ?? null) : unsupported(input)
    } else if (isObject(input)) input = getField(input, dataField) ?? null
    else throw new RowError(`fail to decode data ${goText(input)}`, 'ENCODE')
  }
  if (Array.isArray(input) && !input.every(isObject)) return unsupported(input)
  if (fields.length === 0 && excludeFields.length === 0) return input
  const pick =
    fields.length > 0 ? (row: ValueObject) => kept(row, fields) : (row: ValueObject) => without(row, excludeFields)
  if (Array.isArray(input)) return (input as ValueObject[]).map(pick)
  if (isObject(input)) return pick(input)
  const text = goText(input)
  throw new RowError(`fail to decode data ${text} for error unsupported type ${text}`, 'ENCODE')
}

function unsupported(value: Value): never {
  throw new RowError(`unsupported type ${goText(value)}`, 'ENCODE')
}

function kept(row: ValueObject, fields: readonly string[]): ValueObject {
  const result: ValueObject = {}
  for (const field of fields) setField(result, field, getField(row, field) ?? null)
  return result
}

function without(row: ValueObject, fields: readonly string[]): ValueObject {
  const result = copyFields({}, row)
  for (const field of fields) delete result[field]
  return result
}
