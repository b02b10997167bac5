/** The explicit list of formats (spec/connectors.md 12). */
import { IxionError } from '../core/errors.ts'
import { binaryFormat } from './binary.ts'
import type { FormatDefinition } from './contract.ts'
import { customFormat } from './custom.ts'
import { delimitedFormat } from './delimited.ts'
import { jsonFormat } from './json.ts'
import { protobufFormat } from './protobuf.ts'
import { urlencodedFormat } from './urlencoded.ts'

export const formats: Readonly<Record<string, FormatDefinition>> = {
  json: jsonFormat,
  delimited: delimitedFormat,
  binary: binaryFormat,
  urlencoded: urlencodedFormat,
  protobuf: protobufFormat,
  custom: customFormat(null),
}

/** The format of that name in any case ('' = json). Throws IxionError INVALID_PROPERTY `format type X not supported`. */
export function formatNamed(
  name: string,
  list: Readonly<Record<string, FormatDefinition>> = formats,
): FormatDefinition {
  const key = name.toLowerCase() || 'json'
  const format = Object.hasOwn(list, key) ? list[key] : undefined
  if (format) return format
  throw new IxionError('INVALID_PROPERTY', `format type ${key} not supported`, {
    hint: `Use one of ${Object.keys(list).join(', ')}.`,
  })
}

/** {@link formatNamed}, ready for use: its library is loaded. Use this before making decoders and encoders. */
export async function loadFormat(
  name: string,
  list: Readonly<Record<string, FormatDefinition>> = formats,
): Promise<FormatDefinition> {
  const format = formatNamed(name, list)
  await format.load?.()
  return format
}
