/** The rate limit of a source (spec/connectors.md 3.3, spec/sql.md 6.9): `interval`, and how the messages of one are merged. */
import { IxionError } from '../core/errors.ts'
import type { DecodeOptions, SchemaSource } from '../formats/contract.ts'
import { createFieldMerger, type FieldMerger, type SkipReport } from '../formats/merge.ts'

export interface RateLimitProperties {
  /** ms */
  readonly interval: number
  readonly mergeField: string
  readonly merger: string
  readonly format: string
}

/** Null = the newest message of an interval goes on. Throws IxionError INVALID_PROPERTY with the reference's message. */
export async function createRateLimitMerger(
  { interval, mergeField, merger, format }: RateLimitProperties,
  options: DecodeOptions,
  schemas: SchemaSource,
  skipped?: SkipReport,
): Promise<FieldMerger | null> {
  const refuse = (message: string, path: string): never => {
    throw new IxionError('INVALID_PROPERTY', message, { path })
  }
  if (interval < 1) refuse('interval should be larger than 1ms', 'interval')
  if (mergeField && merger) refuse('mergeField and merger cannot set together', 'mergeField')
  if (merger) refuse(`fail to initiate merge ${merger}: merger ${merger} not found`, 'merger')
  if (!mergeField) return null
  if (!format) refuse('rate limit merge must define format', 'format')
  return createFieldMerger(format, mergeField, options, schemas, skipped)
}
