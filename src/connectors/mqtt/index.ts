/** MQTT: source, sink and named connections (spec/connectors.md 9.1, 10.1). */

import { within } from '../../core/waiting.ts'
import type { ConnectorDefinition } from '../contract.ts'
import { openConnection, readSettings } from './connection.ts'
import { connectionOptions, connectionSelector } from './options.ts'
import { acquireNamed } from './sharing.ts'
import { createMqttSink } from './sink.ts'
import { createMqttSource } from './source.ts'

type Ping = NonNullable<NonNullable<ConnectorDefinition['source']>['ping']>

const ping: Ping = async (_datasource, properties, context) => {
  const settings = await readSettings(properties, context)
  const connection = await openConnection({ ...settings, session: false }, context)
  const stop = new AbortController()
  try {
    await within(
      context.clock,
      5000,
      connection.connected(stop.signal),
      `found error when connecting for ${settings.url.host}: timeout`,
    )
  } finally {
    stop.abort()
    await connection.close()
  }
}

export const mqtt: ConnectorDefinition = {
  name: 'mqtt',
  connection: { options: connectionOptions, acquire: acquireNamed },
  source: {
    name: 'mqtt',
    docs: 'Subscribes to MQTT topics. DATASOURCE is a topic filter, or several separated by commas; + and # and $share/group/ work. meta() has topic, qos, messageId and, with MQTT 5, properties.',
    emits: 'bytes',
    pausable: true,
    bounded: false,
    options: {
      ...connectionOptions,
      ...connectionSelector,
      qos: {
        type: 'int',
        default: 1,
        minimum: 0,
        maximum: 2,
        docs: 'Quality of service of the subscription: 0 at most once, 1 at least once, 2 exactly once between broker and engine.',
      },
      eofMessage: {
        type: 'string',
        docs: 'Base64 of a payload that ends the stream. The payload itself is not processed.',
      },
    },
    create: createMqttSource,
    ping,
  },
  sink: {
    name: 'mqtt',
    docs: 'Publishes each result to an MQTT topic.',
    takes: 'bytes',
    options: {
      ...connectionOptions,
      ...connectionSelector,
      topic: { type: 'string', required: true, dynamic: true, docs: 'Topic to publish to; may be a template.' },
      qos: {
        type: 'int',
        default: 0,
        docs: 'Quality of service of the publishes. 1 and 2 wait for the acknowledgement of the broker.',
      },
      retained: { type: 'bool', default: false, docs: 'Ask the broker to keep the last message of the topic.' },
      properties: {
        type: 'map',
        dynamic: true,
        docs: 'User properties (MQTT 5), name to value; values may be templates.',
      },
      maxInFlight: {
        type: 'int',
        default: 100,
        minimum: 1,
        maximum: 10_000,
        docs: 'How many QoS 1 or 2 publishes may wait for their acknowledgement at once.',
      },
    },
    create: createMqttSink,
    ping,
  },
}
