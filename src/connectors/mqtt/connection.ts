/**
 * One MQTT connection (spec/connectors.md 7, 9.1): the client library keeps connect, keep-alive, reconnect, subscribe and
 * outgoing QoS 1/2; incoming messages are taken from the wire in bulk (frames.ts), routed to consumers, and acknowledged when
 * every consumer has settled them.
 */
import { randomUUID } from 'node:crypto'
import { connect as connectTcp, isIP, type OnReadOpts } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { IClientOptions, MqttClient } from 'mqtt'
import { IxionError, messageOf } from '../../core/errors.ts'
import type { ValueObject } from '../../core/values.ts'
import { within } from '../../core/waiting.ts'
import type { ConnectionStatus, ConnectorContext } from '../contract.ts'
import { flag, number, text } from '../properties.ts'
import { readTls, type TlsSettings } from '../tls.ts'
import { frameCutter, type OutgoingPublish, publishFrames } from './frames.ts'
import { type Consumer, type Inbound, inbound } from './inbound.ts'
import { type WireStream, wireStream } from './wire-stream.ts'

const OPERATION_TIMEOUT = 5000
const FIRST_RETRY = 100
const LONGEST_RETRY = 10_000

export interface MqttSettings {
  readonly url: URL
  readonly version: 3 | 4 | 5
  readonly clientId: string
  /** False when the id was made up: then nobody else can mean this connection. */
  readonly ownClientId: boolean
  readonly username: string | undefined
  readonly password: string | undefined
  readonly session: boolean
  readonly sessionExpiry: number
  readonly maxPacketSize: number
  readonly tls: TlsSettings | undefined
}

export interface Publish extends OutgoingPublish {
  readonly qos: 0 | 1 | 2
}

export interface MqttConnection {
  readonly settings: MqttSettings
  status(): ConnectionStatus
  /** Resolves when connected; rejects with the first failure while it is not. */
  connected(signal: AbortSignal): Promise<void>
  /** Resolves when the broker has granted the filters; the way out unsubscribes (not with a kept session). */
  subscribe(consumer: Consumer): Promise<() => Promise<void>>
  /** Resolves when the broker has all messages (QoS 0: when the socket has taken them). In order. */
  publish(messages: readonly Publish[]): Promise<void>
  /** Takes another client id: reconnects with it. */
  rename(clientId: string): void
  close(): Promise<void>
}

/** Reads and checks the connection properties. Throws INVALID_PROPERTY with the reference's texts. */
export async function readSettings(properties: ValueObject, context: ConnectorContext): Promise<MqttSettings> {
  const server = text(properties, 'server')
  if (!server) throw new IxionError('INVALID_PROPERTY', 'missing server property', { path: 'server' })
  const given = text(properties, 'protocolVersion') ?? '3.1.1'
  const version = { '3.1': 3, '3.1.1': 4, '4': 4, '5': 5 }[given] as 3 | 4 | 5 | undefined
  if (!version) {
    throw new IxionError('INVALID_PROPERTY', `unsupported protocol version ${given}`, {
      path: 'protocolVersion',
      hint: 'Use 3.1, 3.1.1, 4 or 5.',
    })
  }
  const clientId = text(properties, 'clientid') || ''
  return {
    url: brokerUrl(server),
    version,
    clientId: clientId || randomUUID(),
    ownClientId: clientId !== '',
    username: text(properties, 'username') || undefined,
    password: text(properties, 'password') || undefined,
    session: flag(properties, 'enableClientSession'),
    sessionExpiry: number(properties, 'sessionExpiryIntervalSeconds') ?? 60,
    maxPacketSize: number(properties, 'maxPacketSize') ?? 8 * 1024 * 1024,
    tls: await readTls(properties, context),
  }
}

const schemes: Readonly<Record<string, string>> = {
  'tcp:': 'mqtt:',
  'mqtt:': 'mqtt:',
  'ssl:': 'mqtts:',
  'tls:': 'mqtts:',
  'mqtts:': 'mqtts:',
  'tcps:': 'mqtts:',
  'ws:': 'ws:',
  'wss:': 'wss:',
}

/** `tcp://host:1883`, `host:1883` ... as a URL whose protocol is mqtt:, mqtts:, ws: or wss:. */
function brokerUrl(server: string): URL {
  const wrong = (why: string): IxionError =>
    new IxionError('INVALID_PROPERTY', `the MQTT server ${server} ${why}`, {
      path: 'server',
      hint: 'Write it like tcp://127.0.0.1:1883.',
    })
  const full = server.includes('://') ? server : `tcp://${server}`
  const scheme = full.slice(0, full.indexOf(':') + 1).toLowerCase()
  const known = Object.hasOwn(schemes, scheme) ? schemes[scheme] : undefined
  if (!known) throw wrong(`has the unknown scheme ${scheme}//`)
  try {
    const url = new URL(known + full.slice(scheme.length))
    if (!url.hostname) throw wrong('names no host')
    return url
  } catch (error) {
    throw error instanceof IxionError ? error : wrong('is not an address')
  }
}

/** Opens a connection; the dial goes on in the background, for ever, with back-off. */
export async function openConnection(settings: MqttSettings, context: ConnectorContext): Promise<MqttConnection> {
  const { clock, log } = context
  const { MqttClient: Client } = await import('mqtt')
  const where = `${settings.url.protocol}//${settings.url.host}`
  let status: ConnectionStatus = { status: 0, message: '', since: 0 }
  let wire: WireStream | undefined
  /** The stream whose CONNACK has come. Messages follow at once, before the library has heard of it, and want their answers. */
  let accepted: WireStream | undefined
  let retry = FIRST_RETRY
  let closed = false
  /** Called at each change of the connection: connected (null) or failed. */
  const watchers = new Set<(error: Error | null) => void>()
  const setStatus = (to: ConnectionStatus['status'], message: string): void => {
    status = { status: to, message, since: clock.now() }
  }

  const incoming: Inbound = inbound({
    clock,
    log,
    owner: context.owner,
    lost: context.lost,
    hold: () => wire?.hold(),
    go: () => wire?.go(),
    write: (frames) => {
      if (!accepted || accepted.destroyed) return false
      accepted.write(frames)
      return true
    },
    reconnect: () => wire?.destroy(),
  })

  const buildStream = (): Duplex => {
    const stream: WireStream = wireStream(
      (onData) => dial(settings, websocket, onData),
      clock,
      (passOn) =>
        frameCutter(settings.version, settings.maxPacketSize, {
          publishes: incoming.publishes,
          others: passOn,
          connack: (sessionPresent, welcome) => {
            if (!welcome) return
            accepted = stream
            incoming.sessionStarted(sessionPresent && settings.session)
          },
          pubrel: incoming.released,
          oversized: incoming.oversized,
        }),
    )
    wire = stream
    if (incoming.holding()) stream.hold()
    return stream
  }

  const websocket = settings.url.protocol.startsWith('ws') ? await import('ws') : undefined
  const options: IClientOptions = {
    clientId: settings.clientId,
    protocolVersion: settings.version,
    ...(settings.version === 3 && { protocolId: 'MQIsdp' as const }),
    clean: !settings.session,
    keepalive: settings.version === 5 ? 20 : 30,
    reschedulePings: true,
    connectTimeout: OPERATION_TIMEOUT,
    reconnectPeriod: FIRST_RETRY,
    reconnectOnConnackError: true,
    resubscribe: false,
    queueQoSZero: false,
    ...(settings.username !== undefined && { username: settings.username }),
    ...(settings.password !== undefined && { password: settings.password }),
    ...(settings.version === 5 && {
      properties: {
        maximumPacketSize: Math.min(settings.maxPacketSize, 268_435_455),
        ...(settings.session && { sessionExpiryInterval: settings.sessionExpiry }),
      },
    }),
  }
  const client: MqttClient = new Client(buildStream as never, options)

  client.on('connect', () => {
    retry = FIRST_RETRY
    setStatus(1, '')
    for (const watcher of watchers) watcher(null)
    if (filters.size > 0) {
      // After every connect, whatever the broker says about the session.
      grant([...filters.keys()]).catch((error) => {
        setStatus(1, messageOf(error))
        log.error(`mqtt ${where}: ${messageOf(error)}`, { owner: context.owner })
      })
    }
  })
  let lastError = ''
  client.on('error', (error) => {
    lastError = messageOf(error)
    for (const watcher of watchers) watcher(error)
  })
  client.on('disconnect', (packet) => {
    lastError = `the broker closed the connection, reason ${packet.reasonCode ?? 0}`
  })
  client.on('close', () => {
    if (closed) return
    setStatus(-1, lastError || 'connection lost')
    const error = new IxionError('CONNECTION', lastError || 'connection lost')
    for (const watcher of watchers) watcher(error)
    failPublishes(error)
    lastError = ''
    // The library waits this long before the next attempt; the change is for the one after.
    retry = Math.min(LONGEST_RETRY, retry * 1.5)
    client.options.reconnectPeriod = Math.round(retry * (0.5 + clock.random()))
  })
  client.on('reconnect', () => setStatus(0, status.message))

  /** Filter -> QoS and number of consumers. One filter is subscribed once per connection. */
  const filters = new Map<string, { qos: 0 | 1 | 2; users: number }>()

  const grant = async (names: readonly string[]): Promise<void> => {
    const wanted = Object.fromEntries(names.map((name) => [name, { qos: filters.get(name)?.qos ?? 0 }]))
    const granted = await within(
      clock,
      OPERATION_TIMEOUT,
      client.subscribeAsync(wanted),
      `subscribing to ${names.join(',')} at ${where}: timeout`,
    )
    const refused = granted.filter((one) => one.qos >= 128).map((one) => one.topic)
    if (refused.length > 0) {
      throw new IxionError('REFUSED', `the broker ${where} refused the subscription to ${refused.join(',')}`)
    }
  }

  const inFlight = new Set<{ id: number; fail: (error: Error) => void }>()
  const failPublishes = (error: Error): void => {
    for (const one of [...inFlight]) one.fail(error)
  }

  const publishAcknowledged = (message: Publish): Promise<void> =>
    new Promise((resolve, reject) => {
      let id = 0
      const done = (error: Error | null): void => {
        if (!inFlight.delete(entry)) return
        timer.cancel()
        if (error) reject(publishError(error))
        else resolve()
      }
      const entry = {
        id: 0,
        fail: (error: Error) => {
          done(error)
          // Or the library would send it again after a reconnect, beside the runtime's own retry.
          client.removeOutgoingMessage(id)
        },
      }
      inFlight.add(entry)
      const timer = clock.after(OPERATION_TIMEOUT, () => entry.fail(new IxionError('TIMEOUT', 'timeout')))
      client.publish(
        message.topic,
        Buffer.from(message.payload.buffer, message.payload.byteOffset, message.payload.byteLength),
        {
          qos: message.qos,
          retain: message.retain,
          ...(settings.version === 5 &&
            message.userProperties.length > 0 && { properties: { userProperties: grouped(message.userProperties) } }),
        },
        (error) => done(error ?? null),
      )
      id = client.getLastMessageId()
    })

  const writeAll = (frames: readonly Buffer[]): Promise<void> => {
    const stream = wire as WireStream
    return new Promise((resolve, reject) => {
      const last = frames.length - 1
      frames.forEach((frame, i) => {
        stream.write(frame, i === last ? (error) => (error ? reject(publishError(error)) : resolve()) : undefined)
      })
      // A destroyed stream does not always call back.
      stream.once('close', () => reject(publishError(new Error('connection lost'))))
    })
  }

  return {
    settings,
    status: () => status,
    connected: (signal) =>
      new Promise((resolve, reject) => {
        if (client.connected) return resolve()
        const finish = (error: Error | null): void => {
          watchers.delete(finish)
          signal.removeEventListener('abort', stop)
          if (error) {
            const message = `found error when connecting for ${shownServer(where)}: ${messageOf(error) || 'connection refused'}`
            reject(new IxionError('CONNECTION', message, { cause: error }))
          } else {
            resolve()
          }
        }
        const stop = (): void => finish(new Error('stopped'))
        watchers.add(finish)
        if (signal.aborted) stop()
        else signal.addEventListener('abort', stop, { once: true })
      }),
    async subscribe(consumer) {
      incoming.attach(consumer)
      const leave = async (): Promise<void> => {
        incoming.detach(consumer)
        const unused: string[] = []
        for (const name of consumer.filters) {
          const filter = filters.get(name)
          if (filter && --filter.users === 0) {
            filters.delete(name)
            unused.push(name)
          }
        }
        if (unused.length > 0 && client.connected && !settings.session) {
          await within(clock, OPERATION_TIMEOUT, client.unsubscribeAsync(unused), 'timeout').catch((error) => {
            // A connection that closes meanwhile takes its subscriptions with it.
            if (client.disconnecting) return
            log.warn(`mqtt ${where}: unsubscribing from ${unused.join(',')}: ${messageOf(error)}`)
          })
        }
      }
      const fresh: string[] = []
      for (const name of consumer.filters) {
        const filter = filters.get(name)
        if (!filter || filter.qos < consumer.qos) fresh.push(name)
        filters.set(name, {
          qos: Math.max(consumer.qos, filter?.qos ?? 0) as 0 | 1 | 2,
          users: (filter?.users ?? 0) + 1,
        })
      }
      try {
        // When the connection is down the next connect subscribes.
        if (fresh.length > 0 && client.connected) await grant(fresh)
      } catch (error) {
        if (client.connected) {
          await leave()
          throw error
        }
      }
      return leave
    },
    async publish(messages) {
      if (!client.connected || !wire) throw new IxionError('CONNECTION', 'mqtt client is not connected')
      const largest = client.serverProperties?.maximumPacketSize
      for (const message of messages) {
        if (largest && message.payload.length + message.topic.length * 3 + 16 > largest) {
          throw new IxionError('LIMIT', `publish to mqtt broker failed: the broker takes at most ${largest} bytes`)
        }
      }
      if (messages.every((message) => message.qos === 0)) {
        await writeAll(publishFrames(messages, settings.version))
      } else {
        const results = await Promise.allSettled(messages.map(publishAcknowledged))
        const failed = results.find((result) => result.status === 'rejected')
        if (failed) throw failed.reason
      }
    },
    rename(clientId) {
      client.options.clientId = clientId
      wire?.destroy()
    },
    async close() {
      if (closed) return
      closed = true
      incoming.close()
      failPublishes(new IxionError('CONNECTION', 'the connection was closed'))
      // The library waits for answers to what is under way; they may never come.
      await within(clock, 1000, client.endAsync(!client.connected), 'closing took too long').catch(() =>
        wire?.destroy(),
      )
      setStatus(-1, '')
    },
  }
}

const shownServer = (where: string): string => where.replace(/^mqtt:/, 'tcp:').replace(/^mqtts:/, 'ssl:')

/** Reason codes of MQTT 5 that say no for good: not authorised, topic name invalid, packet too large, payload format. */
const finalReasons = new Set([135, 144, 149, 153])

function publishError(error: Error): IxionError {
  if (error instanceof IxionError && error.code !== 'TIMEOUT' && error.code !== 'CONNECTION') return error
  const code = (error as { code?: unknown }).code
  const kind = typeof code === 'number' && finalReasons.has(code) ? 'REFUSED' : 'CONNECTION'
  return new IxionError(kind, `publish to mqtt broker failed: ${messageOf(error)}`, { cause: error })
}

/** The library's form of user properties: a key given twice becomes a list. */
function grouped(pairs: readonly (readonly [string, string])[]): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = Object.create(null)
  for (const [key, value] of pairs) {
    const before = result[key]
    result[key] = before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value]
  }
  return result
}

type WebSocketModule = typeof import('ws')

/** What a read of a TCP socket may bring at once, and the memory several reads share. */
const READ = 64 * 1024
const SLAB = 256 * 1024

function dial(settings: MqttSettings, websocket: WebSocketModule | undefined, onData: (chunk: Buffer) => void): Duplex {
  const { url, tls } = settings
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (websocket) {
    const path = url.pathname === '' ? '/' : url.pathname
    const protocol = settings.version === 3 ? 'mqttv3.1' : 'mqtt'
    const socket = new websocket.WebSocket(`${url.protocol}//${url.host}${path}${url.search}`, [protocol], { ...tls })
    const stream = websocket.createWebSocketStream(socket)
    socket.on('close', () => stream.destroy())
    return stream.on('data', onData)
  }
  const secure = url.protocol === 'mqtts:'
  const port = url.port === '' ? (secure ? 8883 : 1883) : Number(url.port)
  const socket = secure
    ? connectTls({ ...tls, host, port, ...(isIP(host) === 0 && { servername: host }) }).on('data', onData)
    : connectTcp({ host, port, onread: readInto(onData) })
  socket.setNoDelay(true)
  socket.setKeepAlive(true, 30_000)
  return socket
}

/**
 * Reads go behind each other into one piece of memory, which is never written twice. With this kind of reading `pause` stops
 * at once; an ordinary socket would go on reading small pieces until its buffer is full.
 */
function readInto(onData: (chunk: Buffer) => void): OnReadOpts {
  let slab = Buffer.allocUnsafeSlow(SLAB)
  let used = 0
  return {
    buffer: () => {
      if (SLAB - used < READ) {
        slab = Buffer.allocUnsafeSlow(SLAB)
        used = 0
      }
      return slab.subarray(used, used + READ)
    },
    callback: (length) => {
      const chunk = slab.subarray(used, used + length)
      used += length
      onData(chunk)
      return true
    },
  }
}
