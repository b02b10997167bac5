/**
 * Which MQTT connections are shared (spec/connectors.md 7.1). Under one `connectionSelector`, or with equal properties and an
 * explicit client id, everybody uses the same connection: two connections with one client id would throw each other out.
 *
 * Sinks with QoS 1 or 2 publish on a network connection of their own: a source that holds the socket back must not hold back
 * the acknowledgements such a sink waits for (else a rule that reads and writes one connection locks itself up). The main
 * connection has the client id as given; the second has `ID_sink`, unless there is no main one.
 */
import type { ValueObject } from '../../core/values.ts'
import type { AcquiredConnection, ConnectionStatus, ConnectorContext } from '../contract.ts'
import { text } from '../properties.ts'
import { type MqttConnection, type MqttSettings, openConnection, readSettings } from './connection.ts'

export interface Lease<T> {
  readonly resource: T
  release(): Promise<void>
}

/** Both lanes of one shared connection; each opens with its first user. */
interface SharedConnection {
  lane(role: Role): Promise<Lease<MqttConnection>>
  close(): Promise<void>
}

/** `main`: sources and QoS 0 sinks. `publish`: sinks that wait for acknowledgements. */
type Role = 'main' | 'publish'

function sharedConnection(settings: MqttSettings, context: ConnectorContext): SharedConnection {
  const lanes = new Map<Role, { users: number; id: string; made: Promise<MqttConnection> }>()

  const open = (role: Role, id: string): Promise<MqttConnection> =>
    openConnection({ ...settings, clientId: id, session: settings.session && role === 'main' }, context)
  const laneId = (role: Role): string =>
    role === 'publish' && lanes.has('main') ? `${settings.clientId}_sink` : settings.clientId

  return {
    async lane(role) {
      let lane = lanes.get(role)
      if (!lane) {
        const id = laneId(role)
        const publisher = lanes.get('publish')
        if (role === 'main' && publisher?.id === id) (await publisher.made).rename(`${id}_sink`)
        lane = lanes.get(role) ?? { users: 0, id, made: open(role, id) }
        lanes.set(role, lane)
      }
      const mine = lane
      mine.users++
      const resource = await mine.made
      let released = false
      return {
        resource,
        async release() {
          if (released) return
          released = true
          if (--mine.users > 0) return
          if (lanes.get(role) === mine) lanes.delete(role)
          await resource.close()
        },
      }
    },
    async close() {
      const open = [...lanes.values()]
      lanes.clear()
      await Promise.all(open.map(async (lane) => (await lane.made).close()))
    },
  }
}

async function acquire(role: Role, properties: ValueObject, context: ConnectorContext): Promise<Lease<MqttConnection>> {
  const settings = await readSettings(properties, context)
  const selector = text(properties, 'connectionSelector')
  if (!selector && !settings.ownClientId) {
    const connection = await openConnection(settings, context)
    return { resource: connection, release: () => connection.close() }
  }
  const key = poolKey(selector, settings)
  const shared = await context.resources.acquire(key, async () => sharedConnection(settings, context))
  try {
    const lane = await shared.lane(role)
    return {
      resource: lane.resource,
      async release() {
        await lane.release()
        await context.resources.release(key)
      },
    }
  } catch (error) {
    await context.resources.release(key)
    throw error
  }
}

function poolKey(selector: string | undefined, settings: MqttSettings): string {
  if (selector) return `mqtt/${selector}`
  const { url, tls, ...rest } = settings
  const parts = {
    ...rest,
    url: url.href,
    tls: tls && { ...tls, cert: hex(tls.cert), key: hex(tls.key), ca: hex(tls.ca) },
  }
  return `mqtt#${JSON.stringify(parts)}`
}

const hex = (bytes: Buffer | undefined): string | undefined => bytes?.toString('hex')

/** The connection sources subscribe on and QoS 0 sinks publish on. */
export const acquireMain = (properties: ValueObject, context: ConnectorContext): Promise<Lease<MqttConnection>> =>
  acquire('main', properties, context)

/** The connection for publishes that wait for the broker's acknowledgement. */
export const acquirePublisher = (properties: ValueObject, context: ConnectorContext): Promise<Lease<MqttConnection>> =>
  acquire('publish', properties, context)

/** A named connection for its own sake: dialled now, kept until released. */
export async function acquireNamed(
  id: string,
  properties: ValueObject,
  context: ConnectorContext,
): Promise<AcquiredConnection> {
  const settings = await readSettings(properties, context)
  const key = poolKey(id, settings)
  const shared = await context.resources.acquire(key, async () => sharedConnection(settings, context))
  const lane = await shared.lane('main')
  return {
    get status(): ConnectionStatus {
      return lane.resource.status()
    },
    async release() {
      await lane.release()
      await context.resources.release(key)
    },
  }
}
