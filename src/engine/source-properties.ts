/** Effective properties of a source (spec/connectors.md 2.2): later layers win. */

import { IxionError, messageOf } from '../core/errors.ts'
import { copyFields, isObject, type Value, type ValueObject } from '../core/values.ts'
import type { StreamDefinition } from '../sql/ast.ts'
import type { ConfigurationSource } from './settings.ts'

export function sourceType(definition: StreamDefinition): string {
  return (
    definition.options.type ??
    (definition.streamType === 'table' && definition.options.kind !== 'lookup' ? 'file' : 'mqtt')
  ).toLowerCase()
}

export function sourceFormat(definition: StreamDefinition): string {
  return (definition.options.format || 'json').toLowerCase()
}

/**
 * Connector defaults, CONF_KEY section (lower case first), named connection, EXTRA, then the stream's own options. The result
 * still holds common source properties (`interval`, `decompression`, `payloadFormat` ...) beside the connector's.
 */
export function sourceProperties(
  definition: StreamDefinition,
  configuration: ConfigurationSource | undefined,
): ValueObject {
  const { options } = definition
  const type = sourceType(definition)
  const merged: ValueObject = {}
  const lay = (layer: ValueObject | undefined): void => {
    if (layer) copyFields(merged, layer)
  }
  lay(configuration?.sourceProperties(type, 'default'))
  if (options.confKey) {
    const section =
      configuration?.sourceProperties(type, options.confKey.toLowerCase()) ??
      configuration?.sourceProperties(type, options.confKey)
    lay(section)
  }
  const selector = merged['connectionSelector']
  if (typeof selector === 'string' && selector !== '') lay(configuration?.connectionProperties(selector))
  if (options.extra) lay(parseExtra(definition.name, options.extra))
  lay({ format: sourceFormat(definition), ...(options.delimiter && { delimiter: options.delimiter }) })
  return merged
}

function parseExtra(stream: string, text: string): ValueObject {
  try {
    const value = JSON.parse(text) as Value
    if (isObject(value)) return value
  } catch (error) {
    throw new IxionError('INVALID_PROPERTY', `invalid extra option of ${stream}: ${messageOf(error)}`, {
      path: `${stream}.EXTRA`,
    })
  }
  throw new IxionError('INVALID_PROPERTY', 'invalid extra option, expect JSON string', { path: `${stream}.EXTRA` })
}
