/** MQTT sink (spec/connectors.md 10.1): one publish per item. */
import { IxionError } from '../../core/errors.ts'
import type { ValueObject } from '../../core/values.ts'
import type { ConnectorContext, Sink, SinkItem } from '../contract.ts'
import { flag, number, text, textMap } from '../properties.ts'
import { sendInSlices } from '../slices.ts'
import { hasWildcard } from '../topic-bus.ts'
import type { MqttConnection, Publish } from './connection.ts'
import { acquireMain, acquirePublisher, type Lease } from './sharing.ts'

export function createMqttSink(properties: ValueObject, context: ConnectorContext): Sink {
  const topic = text(properties, 'topic')
  if (!topic) throw new IxionError('INVALID_PROPERTY', 'mqtt sink is missing property topic', { path: 'topic' })
  if (!topic.includes('{{') && hasWildcard(topic)) {
    throw new IxionError('INVALID_PROPERTY', "mqtt sink topic shouldn't contain # or +", { path: 'topic' })
  }
  const qos = (number(properties, 'qos') ?? 0) as 0 | 1 | 2
  if (![0, 1, 2].includes(qos)) {
    const message = `invalid qos value ${qos}, the value could be only int 0 or 1 or 2`
    throw new IxionError('INVALID_PROPERTY', message, { path: 'qos' })
  }
  const retain = flag(properties, 'retained')
  const userProperties = textMap(properties, 'properties')
  const maxInFlight = number(properties, 'maxInFlight') ?? 100
  let lease: Lease<MqttConnection> | undefined

  const toPublish = (item: SinkItem): Publish => ({
    topic: checkedTopic(item.dynamic['topic'] ?? topic),
    payload: item.payload ?? new Uint8Array(0),
    qos,
    retain,
    userProperties: [...userProperties].map(
      ([key, value]) => [key, item.dynamic[`properties.${key}`] ?? value] as const,
    ),
  })
  const connection = (): MqttConnection => {
    if (!lease) throw new IxionError('CONNECTION', 'mqtt client is not connected')
    return lease.resource
  }

  return {
    async connect(signal) {
      lease ??= await (qos === 0 ? acquireMain : acquirePublisher)(properties, context)
      try {
        await lease.resource.connected(signal)
      } catch (error) {
        await lease.release()
        lease = undefined
        throw error
      }
      if (userProperties.size > 0 && lease.resource.settings.version !== 5) {
        context.log.warn('mqtt sink: user properties need protocolVersion 5 and are ignored', { owner: context.owner })
      }
    },
    async send(item) {
      await connection().publish([toPublish(item)])
    },
    sendMany: (items) =>
      sendInSlices(items, qos === 0 ? 1000 : maxInFlight, (slice) => connection().publish(slice.map(toPublish))),
    async close() {
      const held = lease
      lease = undefined
      await held?.release()
    },
    get connection() {
      return lease?.resource.status() ?? { status: 0, message: '', since: 0 }
    },
  }
}

/** A broker closes the connection over a bad topic, so it is caught here. */
function checkedTopic(topic: string): string {
  if (topic === '' || hasWildcard(topic) || topic.includes('\0') || Buffer.byteLength(topic) > 65_535) {
    throw new IxionError('REFUSED', `the topic ${JSON.stringify(topic.slice(0, 200))} cannot be published to`, {
      path: 'topic',
      hint: 'A topic is not empty and holds no + or #.',
    })
  }
  return topic
}
