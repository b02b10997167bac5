/** Properties every sink has (spec/connectors.md 4.1, 6.1), described as data. */
import { IxionError } from '../core/errors.ts'
import type { OptionSpecs } from '../core/options.ts'
import { validateOptions } from '../core/validate.ts'
import { copyFields, type ValueObject } from '../core/values.ts'

export const commonSinkSpecs: OptionSpecs = {
  concurrency: { type: 'int', default: 1, docs: 'Accepted for compatibility; order is always kept.' },
  bufferLength: { type: 'int', default: 1024, unit: 'messages', docs: 'Messages that may wait for the sink.' },
  omitIfEmpty: { type: 'bool', default: false, docs: 'Leaves out empty results; with sendSingle also empty objects.' },
  sendSingle: { type: 'bool', default: false, docs: 'One message per row instead of one list per result.' },
  dataTemplate: {
    type: 'string',
    default: '',
    docs: 'Go template applied to the list, or to the row with sendSingle.',
  },
  dataField: {
    type: 'string',
    default: '',
    aliases: ['tableDataField'],
    docs: 'Sends only this member of the result.',
  },
  fields: { type: 'list', element: 'string', default: [], docs: 'Keeps only these columns, in this order.' },
  excludeFields: { type: 'list', element: 'string', default: [], docs: 'Leaves these columns out.' },
  format: { type: 'string', default: 'json', docs: 'Format of the payload.' },
  schemaId: { type: 'string', default: '', docs: '`file.Message` for protobuf and custom.' },
  delimiter: { type: 'string', default: ',', docs: 'Column separator of delimited text.' },
  hasHeader: { type: 'bool', default: false, docs: 'Header line in delimited text.' },
  batchSize: { type: 'int', default: 0, docs: 'Sends after this many results.' },
  lingerInterval: { type: 'duration', default: 0, docs: 'Sends after this time.' },
  compression: { type: 'string', default: '', docs: 'gzip, zlib, flate, zstd ...' },
  compressionProps: { type: 'map', docs: 'Properties of the compression.' },
  encryption: { type: 'string', default: '', docs: '`aes`, or `default` for `security.encryption`.' },
  encProps: { type: 'map', docs: 'Properties of the encryption: mode, iv, aad, tagsize.' },
  enableCache: { type: 'bool', default: false, docs: 'Keeps and retries what the peer does not take.' },
  memoryCacheThreshold: {
    type: 'int',
    default: 1024,
    unit: 'messages',
    docs: 'Messages kept in memory with the cache on.',
  },
  maxDiskCache: { type: 'int', default: 1_024_000, unit: 'messages', docs: 'Checked only: nothing is kept on disk.' },
  bufferPageSize: { type: 'int', default: 256, unit: 'messages', docs: 'Checked only: nothing is kept on disk.' },
  resendInterval: { type: 'duration', default: 0, docs: 'Pause between attempts.' },
  cleanCacheAtStop: { type: 'bool', default: false, docs: 'Accepted for compatibility.' },
  resendAlterQueue: { type: 'bool', default: false, docs: 'Accepted for compatibility.' },
  resendPriority: { type: 'int', default: 0, docs: '-1, 0 or 1; checked only.' },
  resendIndicatorField: { type: 'string', default: '', docs: 'Accepted for compatibility.' },
  resendDestination: { type: 'string', default: '', docs: 'Accepted for compatibility.' },
  connectionSelector: { type: 'string', default: '', docs: 'Named connection whose properties override these.' },
  resourceId: { type: 'string', default: '', docs: 'Named sink configuration the properties start from.' },
}

export interface CommonSinkOptions {
  readonly bufferLength: number
  readonly omitIfEmpty: boolean
  readonly sendSingle: boolean
  readonly dataTemplate: string
  readonly dataField: string
  readonly fields: readonly string[]
  readonly excludeFields: readonly string[]
  readonly format: string
  readonly schemaId: string
  readonly delimiter: string
  readonly hasHeader: boolean
  readonly batchSize: number
  readonly lingerInterval: number
  readonly compression: string
  readonly compressionProps?: ValueObject
  readonly encryption: string
  readonly encProps?: ValueObject
  readonly enableCache: boolean
  readonly memoryCacheThreshold: number
  readonly resendInterval: number
}

const sinkError = (text: string): IxionError =>
  new IxionError('INVALID_PROPERTY', `fail to parse sink configuration: ${text}`)

/** 1.x properties that old rules still carry and nothing reads. */
const retired = new Set(['retryinterval', 'retrycount', 'runasync', 'cachelength', 'cachesaveinterval'])

/**
 * Splits an action's properties into the common ones (checked, with defaults) and the connector's own (checked against
 * `specs`, unknown names refused).
 */
export function readSinkOptions(
  given: ValueObject,
  specs: OptionSpecs,
  defaults: ValueObject,
  where: string,
): { common: CommonSinkOptions; own: ValueObject } {
  const common = validateOptions(commonSinkSpecs, copyFields(copyFields({}, defaults), given), where, {
    unknown: 'drop',
  })
  const options = common as unknown as CommonSinkOptions & Record<string, number>
  if (options.fields.length && options.excludeFields.length)
    throw new IxionError('INVALID_PROPERTY', 'field and excludeFields cannot both be set')
  if (options.batchSize < 0) throw sinkError(`invalid batchSize ${options.batchSize}`)
  if (options.lingerInterval < 0) throw sinkError(`invalid lingerInterval ${options.lingerInterval}, must be positive`)
  const problems = cacheProblems(options)
  if (problems.length) throw sinkError(`invalid cache properties: ${problems.join('\n')}`)
  const shared = new Set(
    Object.keys(commonSinkSpecs).flatMap((n) =>
      [n, ...(commonSinkSpecs[n]?.aliases ?? [])].map((s) => s.toLowerCase()),
    ),
  )
  const declared = new Set(Object.keys(specs).map((n) => n.toLowerCase()))
  const rest: ValueObject = {}
  for (const key of Object.keys(given)) {
    const name = key.toLowerCase()
    if (retired.has(name) || (shared.has(name) && !declared.has(name))) continue
    copyFields(rest, { [key]: given[key] as never })
  }
  return { common: options, own: validateOptions(specs, rest, where) }
}

function cacheProblems(o: Readonly<Record<string, number>>): string[] {
  const { memoryCacheThreshold: memory = 0, maxDiskCache: disk = 0, bufferPageSize: page = 0 } = o
  const problems: string[] = []
  const check = (bad: boolean, text: string): void => {
    if (bad) problems.push(text)
  }
  check(memory < 0, 'memoryCacheThreshold:memoryCacheThreshold must be positive')
  check(disk < 0, 'maxDiskCache:maxDiskCache must be positive')
  check(page <= 0, 'bufferPageSize:bufferPageSize must be positive')
  check((o['resendInterval'] ?? 0) < 0, 'resendInterval:resendInterval must be positive')
  if (page > 0) {
    check(
      memory < page,
      'memoryCacheThresholdTooSmall:memoryCacheThreshold must be greater than or equal to bufferPageSize',
    )
    check(
      memory % page !== 0,
      'memoryCacheThresholdNotMultiple:memoryCacheThreshold must be a multiple of bufferPageSize',
    )
    check(disk < page, 'maxDiskCacheTooSmall:maxDiskCache must be greater than bufferPageSize')
    check(disk % page !== 0, 'maxDiskCacheNotMultiple:maxDiskCache must be a multiple of bufferPageSize')
  }
  check(![-1, 0, 1].includes(o['resendPriority'] ?? 0), 'resendPriority:resendPriority must be -1, 0 or 1')
  return problems
}
