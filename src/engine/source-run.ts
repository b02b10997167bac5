/** From a stream definition to a running source: connector, properties, decoder, validation, counters. */
import type { SourceDefinition } from '../connectors/contract.ts'
import { IxionError } from '../core/errors.ts'
import type { OptionSpecs } from '../core/options.ts'
import { validateOptions } from '../core/validate.ts'
import { copyFields, type ValueObject } from '../core/values.ts'
import { decompressor } from '../formats/compression.ts'
import type { ColumnType, DecodeOptions } from '../formats/contract.ts'
import { createPayloadDecoder } from '../formats/merge.ts'
import { createValidator } from '../formats/schema-check.ts'
import { NodeMetrics } from '../runtime/metrics.ts'
import { createSourceChain, type RowStep } from '../runtime/source-chain.ts'
import { type ChunkScanner, StreamRunner } from '../runtime/stream-runner.ts'
import type { StreamDefinition } from '../sql/ast.ts'
import { columnTypes } from './column-types.ts'
import { connectorContext, type EngineEnvironment } from './environment.ts'
import { loadFormat } from './formats.ts'
import { createRateLimitMerger } from './rate-limit.ts'
import { defaultPayloadLimits } from './settings.ts'
import { type CommonSourceOptions, commonSourceSpecs } from './source-options.ts'
import { sourceFormat, sourceProperties, sourceType } from './source-properties.ts'

/** A stream's source, resolved and checked, not yet connected. */
export interface ResolvedSource {
  readonly definition: StreamDefinition
  readonly connector: SourceDefinition
  /** The connector's own properties, checked. */
  readonly own: ValueObject
  readonly common: CommonSourceOptions
  readonly format: string
  /** Kinds of the nodes between connector and first operator, for the topology. */
  readonly facts: SourceChainFacts
}

export interface SourceChainFacts {
  readonly rateLimit: boolean
  readonly decompress: boolean
  readonly decoder: boolean
  readonly payloadDecoder: boolean
}

export function resolveSource(environment: EngineEnvironment, definition: StreamDefinition): ResolvedSource {
  const type = sourceType(definition)
  const connector = environment.connectors.get(type)?.source
  if (!connector) {
    throw new IxionError('INVALID_PROPERTY', `source type ${type} not found`, {
      path: `${definition.name}.TYPE`,
      hint: `use one of ${[...environment.connectors.values()].flatMap((c) => (c.source ? [c.name] : [])).join(', ')}`,
    })
  }
  const given = sourceProperties(definition, environment.options.configuration)
  const where = `stream ${definition.name}`
  const common = validateOptions(commonSourceSpecs, given, where, { unknown: 'drop' }) as unknown as CommonSourceOptions
  const own = validateOptions(connector.options, ownProperties(given, connector.options), where)
  if (common.mergeField && common.merger) throw propertyError(definition, 'mergeField and merger cannot set together')
  const limited = common.interval > 0 && !has(connector.options, 'interval')
  return {
    definition,
    connector,
    own,
    common,
    format: sourceFormat(definition),
    facts: {
      rateLimit: limited,
      decompress: common.decompression !== '',
      decoder: connector.emits === 'bytes',
      payloadDecoder: common.payloadFormat !== '',
    },
  }
}

function propertyError(definition: StreamDefinition, message: string): IxionError {
  return new IxionError('INVALID_PROPERTY', message, { path: definition.name })
}

function has(specs: OptionSpecs, name: string): boolean {
  return Object.keys(specs).some((n) => n.toLowerCase() === name.toLowerCase())
}

/** What is left for the connector when the common properties it does not declare itself are taken out. */
export function ownProperties(given: ValueObject, specs: OptionSpecs): ValueObject {
  const rest: ValueObject = {}
  for (const key of Object.keys(given)) {
    if (has(commonSourceSpecs, key) && !has(specs, key)) continue
    copyFields(rest, { [key]: given[key] as never })
  }
  return rest
}

export interface SourceRunOptions {
  /** Names of the chain's nodes in order, e.g. `2_decoder`; the preprocessor, when there is one, is the last. */
  readonly names: readonly string[]
  /** Columns to decode, null = all. */
  readonly columns: ReadonlyMap<string, ColumnType> | null
  readonly metaUnused: boolean
  readonly scanner?: ChunkScanner
}

/** Builds the runner; `start` it to connect. */
export async function createSourceRun(
  environment: EngineEnvironment,
  resolved: ResolvedSource,
  options: SourceRunOptions,
): Promise<StreamRunner> {
  const { definition, connector, common } = resolved
  const { clock, log } = environment
  const metrics = new NodeMetrics('source', definition.name, clock)
  const names = [...options.names]
  const node = (): NodeMetrics => new NodeMetrics('op', names.shift() ?? 'node', clock)
  const rateLimit = resolved.facts.rateLimit
    ? {
        metrics: node(),
        interval: common.interval,
        merger: await createRateLimitMerger(
          { ...common, format: resolved.format },
          decodeOptions(environment, resolved, options.columns),
          environment.schemas,
          (problem) => log.warn(problem, { stream: definition.name }),
        ),
      }
    : null
  const decompress = resolved.facts.decompress
    ? {
        metrics: node(),
        run: await decompressor(
          common.decompression,
          environment.options.maxPayloadBytes ?? defaultPayloadLimits.maxPayloadBytes,
        ),
      }
    : null
  const decoder = resolved.facts.decoder
    ? { metrics: node(), decode: await createDecoder(environment, resolved, options.columns) }
    : null
  const json = await loadFormat('json')
  const feed = json.decoder(decodeOptions(environment, resolved, declaredColumns(definition)), environment.schemas)
  const steps: RowStep[] = []
  if (resolved.facts.payloadDecoder) {
    const run = await createPayloadDecoder(
      { ...common, format: common.payloadFormat },
      decodeOptions(environment, resolved, null),
      environment.schemas,
    )
    steps.push({ metrics: node(), run })
  }
  const validate = createValidator(definition, options.columns, {
    zone: environment.timezone,
    ignoreCase: environment.options.ignoreCase ?? false,
  })
  if (validate) steps.push({ metrics: node(), run: (row) => [validate(row)] })
  let runner: StreamRunner
  const source = connector.create(
    definition.options.datasource ?? '',
    resolved.own,
    connectorContext(environment, definition.name, {
      metaUnused: options.metaUnused,
      lost: (count, error) => runner.lost(count, error),
    }),
  )
  runner = new StreamRunner({
    name: definition.name,
    source,
    metrics,
    clock,
    log,
    ...(options.scanner && { scanner: options.scanner }),
    chain: createSourceChain({
      clock,
      ledger: () => runner.ledger,
      decoder,
      feed: (payload) => feed.decode(payload),
      decompress,
      steps,
      rateLimit,
      json: resolved.format === 'json',
    }),
  })
  return runner
}

/** Payload -> rows in the stream's format, taking `columns` (null = all). */
export async function createDecoder(
  environment: EngineEnvironment,
  resolved: ResolvedSource,
  columns: ReadonlyMap<string, ColumnType> | null,
): Promise<(payload: Uint8Array) => readonly ValueObject[]> {
  const format = await loadFormat(resolved.format)
  const decoder = format.decoder(decodeOptions(environment, resolved, columns), environment.schemas)
  return (payload) => decoder.decode(payload)
}

export function decodeOptions(
  environment: EngineEnvironment,
  resolved: Pick<ResolvedSource, 'common' | 'definition'>,
  columns: ReadonlyMap<string, ColumnType> | null,
): DecodeOptions {
  const { options } = environment
  const { common, definition } = resolved
  const delimiter = definition.options.delimiter || common.delimiter
  const schemaId = definition.options.schemaId
  const ignoreCase = options.ignoreCase ?? false
  return {
    // Only JSON decodes chosen columns whatever their case; elsewhere they are looked for in whole rows.
    columns: ignoreCase && sourceFormat(definition) !== 'json' ? null : columns,
    ...(ignoreCase && { ignoreCase }),
    wholeNumbersAsInt64: common.useInt64ForWholeNumber,
    ...(delimiter && { delimiter }),
    ...(common.fields.length > 0 && { fields: common.fields }),
    ...(common.hasHeader && { hasHeader: true }),
    ...(schemaId && { schemaId }),
    maxPayloadBytes: options.maxPayloadBytes ?? defaultPayloadLimits.maxPayloadBytes,
    maxDepth: options.maxDepth ?? defaultPayloadLimits.maxDepth,
    maxRows: options.maxRows ?? defaultPayloadLimits.maxRows,
  }
}

/** All declared columns with their types; null = schemaless. */
function declaredColumns(definition: StreamDefinition): ReadonlyMap<string, ColumnType> | null {
  return definition.fields ? columnTypes(definition.fields) : null
}
