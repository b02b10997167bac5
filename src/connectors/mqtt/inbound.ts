/**
 * Incoming MQTT messages of one connection: which consumer gets which, when reading stops, and when a message is acknowledged.
 *
 * A QoS 1/2 message is acknowledged when every consumer that got it has settled it without error. Packet ids live as long as
 * the session: a message the broker sends again after a reconnect is recognised by its id and not delivered twice.
 */
import type { Clock } from '../../core/clock.ts'
import { IxionError, messageOf } from '../../core/errors.ts'
import { setField, type ValueObject } from '../../core/values.ts'
import type { ByteChunk, Deliver, Logger } from '../contract.ts'
import { topicMatcher } from '../topic-bus.ts'
import { ackFrames, type PublishBatch } from './frames.ts'

export interface Consumer {
  readonly filters: readonly string[]
  readonly qos: 0 | 1 | 2
  readonly deliver: Deliver
  /** False: chunks carry no metadata. */
  readonly wantsMeta: boolean
  /** A payload equal to this ends the stream and is not delivered. */
  readonly eof: Buffer | null
  readonly ended: () => void
}

export interface InboundPorts {
  readonly clock: Clock
  readonly log: Logger
  readonly owner: string
  readonly lost: ((count: number, error: Error) => void) | undefined
  /** Stop and go on reading the socket. */
  hold(): void
  go(): void
  /** Writes acknowledgements; false when there is no connection. */
  write(frames: Buffer): boolean
  /** Drops the network connection so that the broker sends unacknowledged messages again. */
  reconnect(): void
}

export interface Inbound {
  attach(consumer: Consumer): void
  detach(consumer: Consumer): void
  publishes(batch: PublishBatch): void
  sessionStarted(resumed: boolean): void
  released(id: number): void
  oversized(bytes: number, id: number, qos: number): void
  holding(): boolean
  close(): void
}

/** What became of a QoS 1/2 message: with the consumers, settled but not yet acknowledged, QoS 2 acknowledged, not taken. */
type MessageState = 'delivered' | 'settled' | 'received' | 'refused'

/** Messages that came before their consumer (a resumed session): kept up to these limits. */
const MAX_UNCLAIMED = 1000
const MAX_UNCLAIMED_BYTES = 8 * 1024 * 1024
const MAX_CACHED_TOPICS = 20_000
/** A message that was not taken is offered again after this many ms. */
const OFFER_AGAIN = 1000

interface Route {
  readonly consumer: Consumer
  readonly matches: (topic: string) => boolean
  /** Not zero: deliver has returned a promise that has not settled. */
  waiting: number
}

export function inbound(ports: InboundPorts): Inbound {
  const { clock, log } = ports
  let routes: Route[] = []
  const routesByTopic = new Map<string, readonly Route[]>()
  let states = new Map<number, MessageState>()
  let unclaimed: { batch: PublishBatch; indices: number[] }[] = []
  let unclaimedCount = 0
  let unclaimedBytes = 0
  let forgotten = 0
  /** True when messages of filters that nobody here asked for (any more) may come: then every topic is matched. */
  let strangers = false
  let held = false
  let closed = false

  const updateHold = (): void => {
    const should = !closed && routes.some((route) => route.waiting > 0)
    if (should === held) return
    held = should
    if (held) ports.hold()
    else ports.go()
  }

  const acknowledge = (session: Map<number, MessageState>, acks: readonly { id: number; qos: number }[]): void => {
    if (acks.length === 0 || session !== states) return
    if (!ports.write(ackFrames(acks))) {
      for (const { id } of acks) states.set(id, 'settled')
      return
    }
    for (const { id, qos } of acks) {
      if (qos === 2) states.set(id, 'received')
      else states.delete(id)
    }
  }

  /** Splits off what the broker sends again: the indices still to be delivered. */
  const fresh = (batch: PublishBatch): number[] | null => {
    let keep: number[] | null = null
    const again: { id: number; qos: number }[] = []
    for (let i = 0; i < batch.count; i++) {
      const id = batch.ids[i] as number
      const state = id === 0 ? undefined : states.get(id)
      if (state === undefined || state === 'refused') {
        keep?.push(i)
        continue
      }
      keep ??= Array.from({ length: i }, (_, n) => n)
      if (state !== 'delivered') again.push({ id, qos: batch.qos[i] as number })
    }
    acknowledge(states, again)
    return keep
  }

  const routesOf = (topic: string): readonly Route[] => {
    let found = routesByTopic.get(topic)
    if (!found) {
      found = routes.filter((route) => route.matches(topic))
      if (routesByTopic.size >= MAX_CACHED_TOPICS) routesByTopic.clear()
      routesByTopic.set(topic, found)
    }
    return found
  }

  const distribute = (batch: PublishBatch, indices: readonly number[] | null): void => {
    const only = routes.length === 1 ? (routes[0] as Route) : undefined
    if (only && !strangers) {
      hand(batch, [{ route: only, indices }])
      return
    }
    const shares = new Map<Route, number[]>()
    const unmatched: number[] = []
    const count = indices ? indices.length : batch.count
    for (let n = 0; n < count; n++) {
      const i = indices ? (indices[n] as number) : n
      const found = routesOf(topicOf(batch, i))
      if (found.length === 0) unmatched.push(i)
      for (const route of found) {
        const share = shares.get(route)
        if (share) share.push(i)
        else shares.set(route, [i])
      }
    }
    if (unmatched.length > 0) keepUnclaimed(batch, unmatched)
    if (shares.size > 0)
      hand(
        batch,
        [...shares].map(([route, share]) => ({ route, indices: share })),
      )
  }

  /** A consumer may still be on its way (a resumed session delivers at once). */
  const keepUnclaimed = (batch: PublishBatch, indices: readonly number[]): void => {
    const kept: number[] = []
    for (const i of indices) {
      const bytes = (batch.ranges[2 * i + 1] as number) - (batch.ranges[2 * i] as number)
      const wanted = batch.qos[i] !== 0 || routes.length === 0
      if (!wanted || closed) continue
      if (unclaimedCount >= MAX_UNCLAIMED || unclaimedBytes + bytes > MAX_UNCLAIMED_BYTES) {
        // Not acknowledged: the broker has it still.
        if (batch.qos[i] !== 0) forgotten++
        continue
      }
      unclaimedCount++
      unclaimedBytes += bytes
      if (batch.ids[i] !== 0) states.set(batch.ids[i] as number, 'delivered')
      kept.push(i)
    }
    if (kept.length > 0) unclaimed.push({ batch, indices: kept })
  }

  const hand = (batch: PublishBatch, shares: readonly { route: Route; indices: readonly number[] | null }[]): void => {
    const timestamp = clock.now()
    const session = states
    const acknowledged = hasIds(batch, shares)
    /** Per message: consumers that have not settled it. */
    const open = acknowledged ? new Uint16Array(batch.count) : null
    if (open) {
      for (const { indices } of shares) each(batch, indices, (i) => open[i]!++)
      for (let i = 0; i < batch.count; i++) {
        if ((open[i] as number) > 0 && batch.ids[i] !== 0) session.set(batch.ids[i] as number, 'delivered')
      }
    }
    for (const { route, indices } of shares) offer(batch, route, indices, open, session, timestamp)
  }

  const offer = (
    batch: PublishBatch,
    route: Route,
    indices: readonly number[] | null,
    open: Uint16Array | null,
    session: Map<number, MessageState>,
    timestamp: number,
  ): void => {
    const { consumer } = route
    let wanted = indices
    if (consumer.eof) {
      const end = findEnd(batch, indices, consumer.eof)
      if (end >= 0) {
        wanted = take(batch, indices, end)
        const marker = indices ? (indices[end] as number) : end
        acknowledge(
          session,
          batch.ids[marker] === 0 ? [] : [{ id: batch.ids[marker] as number, qos: batch.qos[marker] as number }],
        )
        queueMicrotask(consumer.ended)
        if (wanted.length === 0) return
      }
    }
    const accept = (): void => {
      const acks: { id: number; qos: number }[] = []
      each(batch, wanted, (i) => {
        const left = ((open as Uint16Array)[i] as number) - 1
        ;(open as Uint16Array)[i] = left
        if (left === 0 && batch.ids[i] !== 0) acks.push({ id: batch.ids[i] as number, qos: batch.qos[i] as number })
      })
      acknowledge(session, acks)
    }
    /** The consumer has gone: those that are left decide; with nobody left the broker keeps the messages. */
    const refuse = (): void => {
      if (session !== states) return
      if (routes.length > 0) {
        accept()
        return
      }
      each(batch, wanted, (i) => {
        if (batch.ids[i] !== 0) states.set(batch.ids[i] as number, 'refused')
      })
    }
    const settled = (error: Error | null): void => {
      if (!error || session !== states || !routes.includes(route)) {
        if (error) refuse()
        else accept()
        return
      }
      log.warn(`mqtt: messages not taken, offered again: ${messageOf(error)}`, { owner: ports.owner })
      clock.after(OFFER_AGAIN, () => {
        if (routes.includes(route) && session === states) offer(batch, route, wanted, open, session, timestamp)
        else refuse()
      })
    }
    const room = consumer.deliver(chunkOf(batch, wanted, consumer.wantsMeta, timestamp, open ? settled : undefined))
    if (room) {
      route.waiting++
      const done = (): void => {
        route.waiting--
        updateHold()
      }
      room.then(done, (error) => {
        log.error(`mqtt: delivery failed: ${messageOf(error)}`, { owner: ports.owner })
        done()
      })
      updateHold()
    }
  }

  return {
    attach(consumer) {
      const matchers = consumer.filters.map((filter) => topicMatcher(plainFilter(filter)))
      routes = [...routes, { consumer, waiting: 0, matches: (topic) => matchers.some((matches) => matches(topic)) }]
      routesByTopic.clear()
      const waiting = unclaimed
      unclaimed = []
      unclaimedCount = 0
      unclaimedBytes = 0
      for (const { batch, indices } of waiting) {
        for (const i of indices) if (batch.ids[i] !== 0) states.delete(batch.ids[i] as number)
        distribute(batch, indices)
      }
      if (forgotten > 0) {
        forgotten = 0
        ports.reconnect()
      }
    },
    detach(consumer) {
      routes = routes.filter((route) => route.consumer !== consumer)
      routesByTopic.clear()
      strangers = true
      updateHold()
    },
    publishes(batch) {
      const indices = states.size === 0 ? null : fresh(batch)
      if (indices?.length === 0) return
      distribute(batch, indices)
    },
    sessionStarted(resumed) {
      strangers = resumed
      if (resumed) return
      states = new Map()
      unclaimed = []
      unclaimedCount = 0
      unclaimedBytes = 0
      forgotten = 0
    },
    released(id) {
      states.delete(id)
    },
    oversized(bytes, id, qos) {
      const error = new IxionError('LIMIT', `a message of ${bytes} bytes is beyond maxPacketSize and was skipped`)
      log.error(`mqtt: ${error.message}`, { owner: ports.owner })
      ports.lost?.(1, error)
      if (id !== 0) acknowledge(states, [{ id, qos }])
    },
    holding: () => held,
    close() {
      closed = true
      routes = []
      updateHold()
    },
  }
}

/** The filter behind `$share/group/`. */
function plainFilter(filter: string): string {
  if (!filter.startsWith('$share/')) return filter
  const slash = filter.indexOf('/', 7)
  return slash < 0 ? filter : filter.slice(slash + 1)
}

function topicOf(batch: PublishBatch, i: number): string {
  return batch.bytes.toString('utf8', batch.topics[2 * i] as number, batch.topics[2 * i + 1] as number)
}

function each(batch: PublishBatch, indices: readonly number[] | null, run: (i: number) => void): void {
  if (indices) for (const i of indices) run(i)
  else for (let i = 0; i < batch.count; i++) run(i)
}

function hasIds(batch: PublishBatch, shares: readonly { indices: readonly number[] | null }[]): boolean {
  return shares.some(({ indices }) => {
    if (!indices) return batch.ids.some((id) => id !== 0)
    return indices.some((i) => batch.ids[i] !== 0)
  })
}

/** Position (not index) of the first payload equal to `eof`, or -1. */
function findEnd(batch: PublishBatch, indices: readonly number[] | null, eof: Buffer): number {
  const count = indices ? indices.length : batch.count
  for (let n = 0; n < count; n++) {
    const i = indices ? (indices[n] as number) : n
    const start = batch.ranges[2 * i] as number
    const end = batch.ranges[2 * i + 1] as number
    if (end - start === eof.length && batch.bytes.compare(eof, 0, eof.length, start, end) === 0) return n
  }
  return -1
}

/** The first `count` indices. */
function take(_batch: PublishBatch, indices: readonly number[] | null, count: number): number[] {
  return indices ? indices.slice(0, count) : Array.from({ length: count }, (_, i) => i)
}

function chunkOf(
  batch: PublishBatch,
  indices: readonly number[] | null,
  wantsMeta: boolean,
  timestamp: number,
  settled: ((error: Error | null) => void) | undefined,
): ByteChunk {
  const count = indices ? indices.length : batch.count
  let ranges: Uint32Array
  if (indices) {
    ranges = new Uint32Array(2 * count)
    indices.forEach((i, n) => {
      ranges[2 * n] = batch.ranges[2 * i] as number
      ranges[2 * n + 1] = batch.ranges[2 * i + 1] as number
    })
  } else {
    ranges = batch.ranges.subarray(0, 2 * count)
  }
  return new PackedChunk(batch.bytes, ranges, wantsMeta ? metaOf(batch, indices, count) : noMeta, timestamp, settled)
}

const noMeta: readonly null[] = [null]

/** Builds the payload list only when somebody asks for it. */
class PackedChunk implements ByteChunk {
  readonly kind = 'bytes'
  readonly packed: { readonly bytes: Uint8Array; readonly ranges: Uint32Array }
  readonly meta: readonly (ValueObject | null)[]
  readonly timestamp: number
  declare readonly settled?: (error: Error | null) => void
  #payloads: Uint8Array[] | undefined

  constructor(
    bytes: Buffer,
    ranges: Uint32Array,
    meta: readonly (ValueObject | null)[],
    timestamp: number,
    settled: ((error: Error | null) => void) | undefined,
  ) {
    this.packed = { bytes, ranges }
    this.meta = meta
    this.timestamp = timestamp
    if (settled) this.settled = settled
  }

  get payloads(): readonly Uint8Array[] {
    if (!this.#payloads) {
      const { bytes, ranges } = this.packed
      this.#payloads = Array.from({ length: ranges.length / 2 }, (_, i) =>
        bytes.subarray(ranges[2 * i], ranges[2 * i + 1]),
      )
    }
    return this.#payloads
  }
}

/** topic, qos, messageId and, with MQTT 5, `properties` (spec/connectors.md 9.1). Neighbours with equal metadata share it. */
function metaOf(batch: PublishBatch, indices: readonly number[] | null, count: number): (ValueObject | null)[] {
  const metas: ValueObject[] = []
  let last: ValueObject | undefined
  let lastIndex = -1
  let allSame = true
  for (let n = 0; n < count; n++) {
    const i = indices ? (indices[n] as number) : n
    const properties = batch.userProperties?.get(i)
    if (last && !properties && batch.ids[i] === 0 && sameTopic(batch, lastIndex, i) && batch.ids[lastIndex] === 0) {
      metas.push(last)
      continue
    }
    allSame = n === 0
    const meta: ValueObject = {
      topic: topicOf(batch, i),
      qos: BigInt(batch.qos[i] as number),
      messageId: BigInt(batch.ids[i] as number),
    }
    if (properties) {
      const map: ValueObject = {}
      for (const [key, value] of properties) setField(map, key, value)
      meta['properties'] = map
      const trace = properties.get('traceparent')
      if (trace !== undefined) meta['traceId'] = trace
    }
    metas.push(meta)
    last = properties ? undefined : meta
    lastIndex = i
  }
  return allSame && metas.length > 0 ? [metas[0] as ValueObject] : metas
}

function sameTopic(batch: PublishBatch, a: number, b: number): boolean {
  const startA = batch.topics[2 * a] as number
  const startB = batch.topics[2 * b] as number
  const length = (batch.topics[2 * a + 1] as number) - startA
  if ((batch.topics[2 * b + 1] as number) - startB !== length) return false
  for (let i = 0; i < length; i++) if (batch.bytes[startA + i] !== batch.bytes[startB + i]) return false
  return true
}
