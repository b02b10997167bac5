/** Memory sink (spec/connectors.md 10.4): publishes rows to an in-process topic, optionally marked for lookup tables. */
import { IxionError, messageOf } from '../../core/errors.ts'
import { getField, goTypeName, isObject, type Value, type ValueObject } from '../../core/values.ts'
import { untilAborted } from '../../core/waiting.ts'
import type { ConnectorContext, Sink } from '../contract.ts'
import { text } from '../properties.ts'
import { hasWildcard, type RowKind, topicBus } from '../topic-bus.ts'

const rowKinds: readonly string[] = ['insert', 'update', 'upsert', 'delete'] satisfies RowKind[]

export function createMemorySink(properties: ValueObject, context: ConnectorContext): Sink {
  const topic = text(properties, 'topic') ?? ''
  if (!topic.includes('{{') && hasWildcard(topic)) {
    throw new IxionError('INVALID_PROPERTY', `invalid memory topic ${topic}: wildcard found`, { path: 'topic' })
  }
  const kindField = text(properties, 'rowkindField')
  const keyField = text(properties, 'keyField')
  if (kindField && !keyField) {
    throw new IxionError('INVALID_PROPERTY', 'keyField is required when rowkindField is set', { path: 'keyField' })
  }
  /** In a list a bad row is published all the same, as an upsert. */
  const kindOf = (row: ValueObject, inList: boolean): RowKind => {
    try {
      return rowKind(row, kindField as string, keyField as string)
    } catch (error) {
      if (!inList) throw error
      context.log.warn(`memory sink: ${messageOf(error)}`, { owner: context.owner })
      return 'upsert'
    }
  }
  return {
    async connect() {},
    async send(item, signal) {
      const rows = rowsOf(item.value)
      const to = item.dynamic['topic'] ?? topic
      if (hasWildcard(to)) {
        throw new IxionError('REFUSED', `invalid memory topic ${to}: wildcard found`, { path: 'topic' })
      }
      const room = topicBus(context).publish({
        topic: to,
        rows,
        rowKinds: kindField ? rows.map((row) => kindOf(row, Array.isArray(item.value))) : null,
        timestamp: context.clock.now(),
      })
      if (room) await untilAborted(room, signal)
    },
    async close() {},
  }
}

function rowsOf(value: Value): ValueObject[] {
  if (isObject(value)) return [value]
  if (Array.isArray(value) && value.every(isObject)) return value
  throw new IxionError('REFUSED', `the memory sink takes objects, not ${goTypeName(value)}`)
}

function rowKind(row: ValueObject, kindField: string, keyField: string): RowKind {
  const kind = getField(row, kindField) ?? 'upsert'
  const shown = (): string => Object.keys(row).join(', ').slice(0, 200)
  if (typeof kind !== 'string') {
    throw new IxionError('REFUSED', `rowkind field ${kindField} is not a string in data with fields ${shown()}`)
  }
  if (!rowKinds.includes(kind)) throw new IxionError('REFUSED', `invalid rowkind ${kind}`)
  if (getField(row, keyField) == null) {
    throw new IxionError('REFUSED', `key field ${keyField} not found in data with fields ${shown()}`)
  }
  return kind as RowKind
}
