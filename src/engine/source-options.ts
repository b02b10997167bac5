/** Properties every source may have beside its connector's (spec/connectors.md 3), described as data. */
import type { OptionSpecs } from '../core/options.ts'

export const commonSourceSpecs: OptionSpecs = {
  interval: { type: 'duration', default: 0, docs: 'Push sources: only the newest message of each interval goes on.' },
  decompression: { type: 'string', default: '', docs: 'gzip, zlib, flate, zstd ... of every payload.' },
  payloadFormat: { type: 'string', default: '', docs: 'Format of an encoded payload inside the row.' },
  payloadField: { type: 'string', default: '', docs: 'Column that holds the encoded payload.' },
  payloadBatchField: {
    type: 'string',
    default: '',
    docs: 'Column that holds a list of objects with encoded payloads.',
  },
  payloadSchemaId: { type: 'string', default: '', docs: 'Schema of the encoded payload.' },
  payloadDelimiter: { type: 'string', default: '', docs: 'Column separator of the encoded payload.' },
  merger: { type: 'string', default: '', docs: 'Name of a custom merger.' },
  mergeField: { type: 'string', default: '', docs: 'Merges the newest message per value of this column.' },
  sendInterval: { type: 'duration', default: 0, docs: 'Pause between the rows of one payload.' },
  useInt64ForWholeNumber: { type: 'bool', default: false, docs: 'JSON numbers without a fraction become int64.' },
  fields: { type: 'list', element: 'string', default: [], docs: 'delimited: column names in order.' },
  hasHeader: { type: 'bool', default: false, docs: 'delimited: the first line holds column names.' },
  delimiter: { type: 'string', default: '', docs: 'delimited: column separator.' },
  format: { type: 'string', default: '', docs: 'Set by the stream.' },
  connectionSelector: { type: 'string', default: '', docs: 'Named connection to share.' },
  bufferLength: { type: 'int', default: 1024, docs: 'Accepted for compatibility; the rule option bounds what waits.' },
  lookup: {
    type: 'map',
    docs: 'Lookup tables: cache of answers.',
    members: {
      cache: { type: 'bool', default: false, docs: 'Keep answers.' },
      cacheTtl: { type: 'duration', default: 0, docs: 'How long, 0 = for ever.' },
      cacheMissingKey: { type: 'bool', default: false, docs: 'Keep empty answers too.' },
    },
  },
}

export interface CommonSourceOptions {
  readonly interval: number
  readonly decompression: string
  readonly payloadFormat: string
  readonly payloadField: string
  readonly payloadBatchField: string
  readonly payloadSchemaId: string
  readonly payloadDelimiter: string
  readonly merger: string
  readonly mergeField: string
  readonly sendInterval: number
  readonly useInt64ForWholeNumber: boolean
  readonly fields: readonly string[]
  readonly hasHeader: boolean
  readonly delimiter: string
  readonly lookup?: { readonly cache: boolean; readonly cacheTtl: number; readonly cacheMissingKey: boolean }
}
