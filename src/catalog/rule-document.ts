/** The rule document (spec/rest-api.md 4): text -> checked members, with the reference's messages. */
import { parseDuration } from '../core/duration.ts'
import { IxionError, messageOf } from '../core/errors.ts'
import { goText } from '../core/go-text.ts'
import { MAX_DOCUMENT_DEPTH, nestsDeeper } from '../core/json-nesting.ts'
import { parseTime } from '../core/time-parse.ts'
import { validateOptions } from '../core/validate.ts'
import { copyFields, isObject, setField, type Value, type ValueObject } from '../core/values.ts'
import { checkIdentifier } from './identifier.ts'
import { type RuleOptions, ruleOptionSpecs } from './rule-options.ts'

export interface RuleDocument {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly sql: string
  readonly graph: ValueObject | null
  readonly actions: readonly RuleAction[]
  readonly options: RuleOptions
  readonly triggered: boolean
  readonly temp: boolean
  readonly tags: readonly string[] | null
}

/** One sink of a rule. Several sinks in one object of `actions` share an index. */
export interface RuleAction {
  readonly type: string
  readonly index: number
  readonly properties: ValueObject
  /** Name of the sink's node in a graph; else type and index name it. */
  readonly name?: string
}

const memberNames = [
  'id',
  'name',
  'version',
  'sql',
  'graph',
  'actions',
  'options',
  'triggered',
  'temp',
  'tags',
] as const
type Member = (typeof memberNames)[number]

const invalid = (message: string, path?: string): IxionError =>
  new IxionError('INVALID_DOCUMENT', message, path === undefined ? {} : { path })

/** The document as a JSON object. Numbers stay JavaScript numbers: rule documents hold no telemetry. */
function parseRuleText(text: string): ValueObject {
  if (nestsDeeper(text, MAX_DOCUMENT_DEPTH)) {
    throw invalid(`Parse rule error : the document is nested deeper than ${MAX_DOCUMENT_DEPTH} levels.`)
  }
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    throw invalid(`Parse rule ${text} error : ${messageOf(error)}.`)
  }
  if (!isObject(parsed as Value)) throw invalid(`Parse rule ${text} error : the document must be a JSON object.`)
  return parsed as ValueObject
}

/**
 * Checks in the order of the reference: JSON, id, sql/graph/actions, options. `defaults` are the engine's `rule:` settings,
 * `id` the one of the path (PUT), which the document may leave out.
 */
export function readRuleDocument(text: string, defaults: ValueObject = {}, id?: string): RuleDocument {
  const document = parseRuleText(text)
  const member = (name: Member): Value | undefined => {
    if (Object.hasOwn(document, name)) return document[name]
    const key = Object.keys(document).find((k) => k.toLowerCase() === name)
    return key === undefined ? undefined : document[key]
  }
  const typed = <T extends Value>(name: Member, kind: string, test: (v: Value) => boolean, fallback: T): T => {
    const value = member(name)
    if (value === undefined || value === null) return fallback
    if (!test(value)) throw invalid(`Parse rule ${text} error : ${name} must be ${kind}.`, name)
    return value as T
  }
  const isText = (v: Value): boolean => typeof v === 'string'
  const isBool = (v: Value): boolean => typeof v === 'boolean'

  const given = typed('id', 'a string', isText, '')
  if (id !== undefined && given !== '' && given !== id) throw invalid('RuleId is not consistent with rule id.', 'id')
  const sql = typed('sql', 'a string', isText, '')
  const graph = typed<ValueObject | null>('graph', 'an object', isObject, null)
  const ruleId = member('id') === undefined ? (id ?? '') : given
  if (ruleId === '') throw invalid('Missing rule id.', 'id')
  checkIdentifier(ruleId)
  if (sql !== '' && graph) throw invalid(`Rule ${ruleId} has both sql and graph.`)
  if (sql === '' && !graph) throw invalid(`Rule ${ruleId} has neither sql nor graph.`)
  const actionList = typed<Value[]>('actions', 'an array', Array.isArray, [])
  if (!graph && actionList.length === 0) throw invalid('Missing rule actions.', 'actions')
  const tags = typed<Value[] | null>('tags', 'an array of strings', (v) => Array.isArray(v) && v.every(isText), null)

  return {
    id: ruleId,
    name: typed('name', 'a string', isText, ''),
    version: typed('version', 'a string', isText, ''),
    sql,
    graph,
    actions: readActions(actionList),
    options: readOptions(ruleId, typed('options', 'an object', isObject, {}), defaults),
    triggered: typed('triggered', 'a boolean', isBool, true),
    temp: typed('temp', 'a boolean', isBool, false),
    tags: tags as string[] | null,
  }
}

function readActions(list: readonly Value[]): RuleAction[] {
  const actions: RuleAction[] = []
  list.forEach((action, index) => {
    if (!isObject(action))
      throw invalid(`actions[${index}] must be an object of sink type and properties`, `actions[${index}]`)
    for (const type of Object.keys(action)) {
      const properties = action[type] as Value
      if (!isObject(properties)) {
        throw new IxionError(
          'INVALID_PROPERTY',
          `expect map[string]interface{} type for the action properties, but found ${goText(properties)}`,
          { path: `actions[${index}].${type}` },
        )
      }
      actions.push({ type, index, properties })
    }
  })
  return actions
}

/** Options in engine units; problems are joined by newlines as in the reference. */
function readOptions(id: string, given: ValueObject, defaults: ValueObject): RuleOptions {
  const fail = (text: string): never => {
    throw invalid(`Rule ${id} has invalid options: ${text}.`, 'options')
  }
  let values: ValueObject
  try {
    values = validateOptions(ruleOptionSpecs, copyFields(copyFields({}, defaults), given), 'options', {
      unknown: 'drop',
    })
  } catch (error) {
    return fail(messageOf(error))
  }
  const options = values as unknown as RuleOptions & { concurrency: number }
  const problems: string[] = []
  if (options.concurrency < 0) problems.push('invalidConcurrency:concurrency must be greater than 0')
  if (options.bufferLength < 0) problems.push('invalidBufferLength:bufferLength must be greater than 0')
  if (options.lateTolerance < 0) problems.push('invalidLateTol:lateTol must be greater than 0')
  if (options.restartStrategy.attempts < 0) {
    problems.push('invalidRestartAttempts:restart attempts must be greater than 0')
  }
  for (const range of options.cronDatetimeRange) {
    try {
      const { beginTimestamp = 0, endTimestamp = 0 } = range
      const given = beginTimestamp > 0 && endTimestamp > 0
      const begin = given ? beginTimestamp : parseTime(String(range.begin ?? '')).epochMs
      const end = given ? endTimestamp : parseTime(String(range.end ?? '')).epochMs
      if (begin > end) problems.push("validate cronDatetimeRange failed, err:begin time shouldn't after end time")
    } catch (error) {
      problems.push(`validate cronDatetimeRange failed, err:${messageOf(error)}`)
    }
  }
  if (options.duration !== '') {
    try {
      parseDuration(options.duration)
    } catch (error) {
      problems.push(`duration: ${messageOf(error)}`)
    }
  }
  return problems.length ? fail(problems.join('\n')) : options
}

/** The stored form after start, stop or a tag change: compact JSON, keys sorted at every level (spec/rest-api.md 3.3). */
export function rewriteRuleText(text: string, changes: Readonly<Record<string, Value>>): string {
  const document = parseRuleText(text)
  for (const name of Object.keys(changes)) {
    const key = Object.keys(document).find((k) => k.toLowerCase() === name) ?? name
    setField(document, key, changes[name] as Value)
  }
  return JSON.stringify(sorted(document))
}

function sorted(value: Value): Value {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  const result: ValueObject = {}
  for (const key of Object.keys(value).sort()) setField(result, key, sorted(value[key] as Value))
  return result
}
