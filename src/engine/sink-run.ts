/** From one action of a rule to its sink: connector, checked properties, transform, encoder, counters. */
import type { RuleAction, RuleDocument } from '../catalog/rule-document.ts'
import type { ConnectorContext, SinkDefinition } from '../connectors/contract.ts'
import { IxionError, messageOf, RowError } from '../core/errors.ts'
import { decodeJsonText } from '../core/json-decode.ts'
import { copyFields, setField, type Value, type ValueObject } from '../core/values.ts'
import { compressor } from '../formats/compression.ts'
import type { EncodeOptions } from '../formats/contract.ts'
import { encryptor } from '../formats/encryption.ts'
import { formatNamed } from '../formats/index.ts'
import { type CompileTemplate, findTemplates } from '../formats/template/properties.ts'
import { createTransform, type Transform, type TransformItem } from '../formats/transform.ts'
import type { SinkFacts } from '../plan/topology.ts'
import { NodeMetrics } from '../runtime/metrics.ts'
import { type ByteStep, createSinkChain, type MessageBatch, type TransformedMessage } from '../runtime/sink-chain.ts'
import { SinkRunner } from '../runtime/sink-runner.ts'
import { connectorContext, type EngineEnvironment } from './environment.ts'
import { loadFormat } from './formats.ts'
import { type CommonSinkOptions, readSinkOptions } from './sink-options.ts'

export interface ResolvedSink {
  readonly name: string
  readonly connector: SinkDefinition
  readonly common: CommonSinkOptions
  readonly own: ValueObject
  readonly facts: SinkFacts
  /** Template texts of dynamic properties by dotted property name. */
  readonly dynamic: ReadonlyMap<string, string>
  readonly makeTransform: () => Transform
  /** Messages of single rows as JSON and nothing else: the columnar lane can write them itself. */
  readonly plainJson: boolean
}

/** Checks one action completely, templates included. Throws IxionError that names the property. */
export async function resolveSink(
  environment: EngineEnvironment,
  rule: string,
  action: RuleAction,
): Promise<ResolvedSink> {
  const where = action.name === undefined ? `actions[${action.index}].${action.type}` : `graph.nodes.${action.name}`
  const connector = environment.connectors.get(action.type)?.sink
  if (!connector) {
    throw new IxionError('INVALID_PROPERTY', `sink ${action.type} is not defined`, {
      path: where,
      hint: `use one of ${[...environment.connectors.values()].flatMap((c) => (c.sink ? [c.name] : [])).join(', ')}`,
    })
  }
  const properties = layered(environment, action)
  const { common, own } = readSinkOptions(
    properties,
    connector.options,
    environment.options.sinkDefaults ?? {},
    `${where} of rule ${rule}`,
  )
  formatNamed(common.format)
  const dynamic = findTemplates(own, connector.ownTemplates?.(own))
  // Contradictions and template errors are found now, not at the first row.
  const compile = await templateCompiler(environment, common.dataTemplate !== '' || dynamic.size > 0)
  const makeTransform = (): Transform => createTransform({ ...common, templates: [...dynamic.values()] }, compile)
  makeTransform()
  const batch = common.batchSize > 0 || common.lingerInterval > 0
  return {
    name: action.name ?? `${action.type}_${action.index}`,
    connector,
    common,
    own,
    dynamic,
    makeTransform,
    facts: {
      type: action.type,
      ...(action.name !== undefined && { name: action.name }),
      bytes: connector.takes === 'bytes',
      batch,
      compress: common.compression !== '' && !connector.packs,
      encrypt: common.encryption !== '' && !connector.packs,
      cache: common.enableCache,
    },
    plainJson:
      connector.takes === 'bytes' &&
      (common.format || 'json') === 'json' &&
      !batch &&
      dynamic.size === 0 &&
      common.compression === '' &&
      common.encryption === '' &&
      common.dataTemplate === '' &&
      common.dataField === '' &&
      common.fields.length === 0 &&
      common.excludeFields.length === 0,
  }
}

/** resourceId base < the action < connectionSelector (spec/connectors.md 2.3). */
function layered(environment: EngineEnvironment, action: RuleAction): ValueObject {
  const { configuration } = environment.options
  const merged: ValueObject = {}
  const resource = action.properties['resourceId']
  if (typeof resource === 'string' && resource !== '')
    copyFields(merged, configuration?.sinkProperties(action.type, resource) ?? {})
  copyFields(merged, action.properties)
  delete merged['resourceId']
  const selector = merged['connectionSelector']
  if (typeof selector === 'string' && selector !== '')
    copyFields(merged, configuration?.connectionProperties(selector) ?? {})
  return merged
}

/** The template language is loaded for rules that use it: most do not, and it is large. */
async function templateCompiler(environment: EngineEnvironment, used: boolean): Promise<CompileTemplate> {
  const { clock, timezone } = environment
  if (!used) {
    return () => {
      throw new IxionError('INTERNAL', 'the template language is not loaded')
    }
  }
  const { compileTemplate } = await import('../formats/template/compile.ts')
  return (text) => compileTemplate(text, { now: () => clock.now(), random: () => clock.random(), zone: timezone })
}

export interface SinkRun {
  readonly runner: SinkRunner
  /** Counters of the nodes between the last operator and the sink. */
  readonly chainMetrics: readonly NodeMetrics[]
}

/** Builds the runner; it connects when it is started. `onRoom` is called when its queue has room again. */
export async function createSinkRun(
  environment: EngineEnvironment,
  document: RuleDocument,
  sink: ResolvedSink,
  onRoom: () => void,
): Promise<SinkRun> {
  const { connector, common, own, dynamic, name, facts } = sink
  const { clock, log } = environment
  let position = 0
  const node = (kind: string): NodeMetrics => new NodeMetrics('op', `${name}_${position++}_${kind}`, clock)

  const batchMetrics = facts.batch ? node('batch') : null
  const transformMetrics = node('transform')
  const format = await loadFormat(common.format)
  const encodeOptions: EncodeOptions = {
    delimiter: common.delimiter,
    hasHeader: common.hasHeader,
    stream: connector.name === 'file',
    ...(common.fields.length > 0 && { fields: common.fields }),
    ...(common.schemaId && { schemaId: common.schemaId }),
  }
  const batch: MessageBatch | null = batchMetrics && {
    metrics: batchMetrics,
    writerMetrics: facts.bytes ? node('batchWriter') : null,
    size: common.batchSize,
    linger: common.lingerInterval,
    writer: facts.bytes ? batchWriter(format.batchWriter(encodeOptions, environment.schemas)) : null,
  }
  const encoder = facts.bytes && !batch ? format.encoder(encodeOptions, environment.schemas) : null
  const encode = encoder && { metrics: node('encode'), run: (value: Value) => encoder.encode(value) }
  const byteSteps: ByteStep[] = []
  if (facts.bytes && facts.compress) {
    byteSteps.push({
      metrics: node('compress'),
      run: await compressor(common.compression, common.compressionProps ?? {}),
    })
  }
  if (facts.bytes && facts.encrypt) {
    byteSteps.push({
      metrics: node('encrypt'),
      run: await encryptor(common.encryption, common.encProps ?? {}, environment.options),
    })
  }
  const transform = sink.makeTransform()
  const chain = createSinkChain({
    clock,
    takes: connector.takes,
    sendError: document.options.sendError,
    batch,
    encode,
    byteSteps,
    transform: {
      metrics: transformMetrics,
      identity: sink.plainJson && !common.omitIfEmpty ? (common.sendSingle ? 'row' : 'list') : null,
      run: (result) =>
        transform(result.rows).map((item) =>
          message(item, dynamic, connector.takes, common.sendSingle, result.rows.length),
        ),
    },
  })
  let runner: SinkRunner
  runner = new SinkRunner({
    sink: connector.create(
      own,
      connectorContext(environment, document.id, {
        lost: (count, error) => runner.lost(count, error),
        ...(await sinkHelpers(environment, sink)),
      }),
    ),
    acceptsLines: connector.acceptsLines?.(own) ?? false,
    chain,
    metrics: new NodeMetrics('sink', name, clock),
    clock,
    log,
    maxItems: common.enableCache ? Math.max(common.bufferLength, common.memoryCacheThreshold) : common.bufferLength,
    maxBytes: document.options.bufferBytes,
    retryInterval: common.resendInterval > 0 ? common.resendInterval : common.enableCache ? 100 : 0,
    onRoom,
  })
  return { runner, chainMetrics: chain.metrics }
}

/** What some connectors cannot do on their own: templates over data that is no row, and zstd files. */
async function sinkHelpers(
  environment: EngineEnvironment,
  { connector, own }: ResolvedSink,
): Promise<Pick<ConnectorContext, 'renderTemplate' | 'zstdFrame'>> {
  const templates = (connector.ownTemplates?.(own) ?? []).length > 0
  const compile = templates ? await templateCompiler(environment, true) : null
  return {
    ...(compile && { renderTemplate: (template: string, data: Value) => compile(template)(data) }),
    zstdFrame: async (bytes) => (await compressor('zstd'))(bytes),
  }
}

/** What a template's text is as a value, for sinks and batches that take values. Throws RowError when it is no JSON. */
function renderedValue(text: string): Value {
  try {
    return decodeJsonText(text)
  } catch (error) {
    throw new RowError(`the text of dataTemplate is no JSON: ${messageOf(error)}`, 'ENCODE')
  }
}

/** Rendered text goes into a batch as it is. */
function batchWriter(writer: { write(value: Value): void; flush(): Uint8Array }): NonNullable<MessageBatch['writer']> {
  return {
    write: (m) => writer.write(m.text !== null ? renderedValue(m.text) : m.value),
    flush: () => writer.flush(),
  }
}

const noDynamic: Readonly<Record<string, string>> = Object.freeze({})

function message(
  item: TransformItem,
  dynamic: ReadonlyMap<string, string>,
  takes: 'bytes' | 'rows',
  single: boolean,
  resultRows: number,
): TransformedMessage {
  const rows = single ? 1 : resultRows
  const failed = (error: Error): TransformedMessage => ({ value: null, text: null, dynamic: noDynamic, rows, error })
  if (item.kind === 'error') return failed(item.error)
  if (item.kind === 'nothing') return failed(new RowError('nothing to send: dataField is not in the result', 'ENCODE'))
  let rendered = noDynamic
  if (item.properties) {
    const values: Record<string, string> = {}
    for (const [name, text] of dynamic) setField(values, name, item.properties[text] ?? '')
    rendered = values
  }
  if (item.kind === 'text') {
    if (takes === 'bytes') return { value: null, text: item.text, dynamic: rendered, rows }
    try {
      return { value: renderedValue(item.text), text: null, dynamic: rendered, rows }
    } catch (error) {
      return failed(error as RowError)
    }
  }
  return { value: item.kind === 'row' ? item.row : (item.rows as ValueObject[]), text: null, dynamic: rendered, rows }
}
