/** Properties of an MQTT connection, shared by source, sink and named connections (spec/connectors.md 9.1). */
import type { OptionSpecs } from '../../core/options.ts'
import { tlsOptions } from '../tls.ts'

export const connectionOptions: OptionSpecs = {
  server: {
    type: 'string',
    docs: 'Broker address, for example tcp://127.0.0.1:1883. Schemes: tcp or mqtt, ssl, tls, mqtts or tcps, ws, wss.',
  },
  protocolVersion: {
    type: 'string',
    default: '3.1.1',
    docs: 'MQTT version: 3.1, 3.1.1 (also written 4) or 5.',
  },
  clientid: {
    type: 'string',
    docs: 'Client id at the broker. A random one when empty; give one to keep a session across restarts.',
  },
  username: { type: 'string', docs: 'User name, sent when not empty.' },
  password: { type: 'string', secret: true, docs: 'Password, sent when not empty.' },
  enableClientSession: {
    type: 'bool',
    default: false,
    docs: 'Keep the session at the broker (clean session off), so that QoS 1 and 2 messages wait while the engine is away. Needs a clientid.',
  },
  clientStatePath: {
    type: 'string',
    docs: 'Accepted for compatibility. Messages in flight are kept by the broker, because they are acknowledged only when accepted.',
  },
  sessionExpiryIntervalSeconds: {
    type: 'int',
    default: 60,
    minimum: 0,
    maximum: 4_294_967_295,
    unit: 's',
    docs: 'How long the broker keeps the session after a disconnect (MQTT 5 with enableClientSession).',
  },
  maxPacketSize: {
    type: 'size',
    default: 8 * 1024 * 1024,
    minimum: 1024,
    docs: 'Largest message to accept. A longer one is skipped, acknowledged and counted as lost.',
  },
  ...tlsOptions,
}

export const connectionSelector: OptionSpecs = {
  connectionSelector: {
    type: 'string',
    docs: 'Name of a stored connection to share; its properties replace those given here.',
  },
}
