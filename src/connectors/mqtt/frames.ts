/**
 * MQTT frames on the wire, both ways, as far as bulk handling needs them: incoming PUBLISH frames are cut out of the socket's
 * chunks, everything else passes on to the client library unparsed. All QoS classes are cut by the same code, so their order on
 * one topic is the order on the wire.
 */
import { IxionError } from '../../core/errors.ts'

/** PUBLISH frames of one socket chunk. Columns of equal length; `ranges` has two entries a message (payload start, end). */
export interface PublishBatch {
  readonly bytes: Buffer
  count: number
  ranges: Uint32Array
  /** Topic start and end in `bytes`, two a message. */
  topics: Uint32Array
  /** 0 for QoS 0. */
  ids: Uint16Array
  qos: Uint8Array
  /** MQTT 5 user properties by message index; null when no message has any. */
  userProperties: Map<number, Map<string, string>> | null
}

export interface FrameHandlers {
  /** Once per chunk that holds PUBLISH frames. */
  publishes(batch: PublishBatch): void
  /** Frames for the client library, in order; one buffer holds whole frames. */
  others(frames: Buffer): void
  connack(sessionPresent: boolean, accepted: boolean): void
  /** The sender finished the exchange of a QoS 2 message. */
  pubrel(id: number): void
  /** A PUBLISH longer than the limit went by and was skipped. `id` 0 = QoS 0. */
  oversized(bytes: number, id: number, qos: number): void
}

export interface FrameCutter {
  /** Returns the number of messages found. Throws IxionError('CONNECTION') on what is no MQTT: close the connection. */
  feed(chunk: Buffer): number
}

const PUBLISH = 3
const MAX_REMAINING = 268_435_455

/** One per network connection. `version` 3, 4 or 5; a PUBLISH beyond `maxBytes` is skipped without being collected. */
export function frameCutter(version: number, maxBytes: number, handlers: FrameHandlers): FrameCutter {
  let parts: Buffer[] = []
  let have = 0
  let need = 0
  /** Bytes of an oversized frame still to come. */
  let skip = 0

  const scan = (bytes: Buffer): number => {
    const end = bytes.length
    let batch: PublishBatch | null = null
    let otherStart = -1
    let pos = 0
    while (pos < end) {
      // Fixed header: type and flags, then the remaining length in one to four bytes.
      let at = pos + 1
      let remaining = 0
      let complete = false
      for (let shift = 0; at < end; shift += 7) {
        const byte = bytes[at++] as number
        remaining += (byte & 127) * 2 ** shift
        if (byte < 128) {
          complete = true
          break
        }
        if (shift === 21) throw malformed('a remaining length of more than four bytes')
      }
      if (!complete || at + remaining > end) {
        const total = complete ? at - pos + remaining : 0
        const first = bytes[pos] as number
        if (total > maxBytes && first >> 4 === PUBLISH) {
          // Wait for the packet id (behind the topic), then let the rest go by.
          const head = headOfPublish(bytes, pos, at)
          if (head) {
            otherStart = passOn(bytes, otherStart, pos)
            skip = total - (end - pos)
            handlers.oversized(total, head.id, head.qos)
            pos = end
            break
          }
        }
        otherStart = passOn(bytes, otherStart, pos)
        parts = [pos === 0 ? bytes : bytes.subarray(pos)]
        have = end - pos
        need = total > maxBytes || !complete ? have + 1 : total
        break
      }
      const first = bytes[pos] as number
      const type = first >> 4
      const next = at + remaining
      if (type === PUBLISH) {
        otherStart = passOn(bytes, otherStart, pos)
        if (next - pos > maxBytes) {
          const head = headOfPublish(bytes, pos, at)
          handlers.oversized(next - pos, head?.id ?? 0, head?.qos ?? 0)
        } else {
          batch ??= newBatch(bytes, Math.min(end - pos, (end - pos) / Math.max(next - pos, 2) + 8) | 0)
          addPublish(batch, first, at, next)
        }
      } else {
        if (type === 0) throw malformed('a reserved packet type')
        if (type === 2 && remaining >= 2) {
          // Publishes before a CONNACK belong to nobody; the order matters to the session's bookkeeping.
          handlers.connack(((bytes[at] as number) & 1) === 1, bytes[at + 1] === 0)
        } else if (type === 6 && remaining >= 2) {
          // A PUBREL answers a PUBREC we sent for an earlier batch, never one in this chunk.
          handlers.pubrel(((bytes[at] as number) << 8) | (bytes[at + 1] as number))
        }
        if (otherStart < 0) otherStart = pos
      }
      pos = next
    }
    passOn(bytes, otherStart, pos)
    if (!batch) return 0
    handlers.publishes(batch)
    return batch.count
  }

  /** Hands on the frames since `start`; returns -1, "none collected". */
  const passOn = (bytes: Buffer, start: number, end: number): -1 => {
    if (start >= 0 && end > start) handlers.others(bytes.subarray(start, end))
    return -1
  }

  const addPublish = (batch: PublishBatch, first: number, start: number, end: number): void => {
    const bytes = batch.bytes
    const qos = (first >> 1) & 3
    if (qos === 3) throw malformed('a PUBLISH with QoS 3')
    if (start + 2 > end) throw malformed('a PUBLISH without topic')
    const topicStart = start + 2
    const topicEnd = topicStart + (((bytes[start] as number) << 8) | (bytes[start + 1] as number))
    let at = topicEnd
    let id = 0
    if (qos > 0) {
      if (at + 2 > end) throw malformed('a PUBLISH without packet id')
      id = ((bytes[at] as number) << 8) | (bytes[at + 1] as number)
      at += 2
    }
    if (at > end) throw malformed('a topic longer than its packet')
    if (batch.count === batch.qos.length) grow(batch)
    const i = batch.count
    if (version === 5) at = readProperties(batch, i, at, end)
    // We announce no topic alias, so an empty topic is an error of the broker.
    if (topicEnd === topicStart) throw malformed('a PUBLISH with an empty topic')
    batch.ranges[2 * i] = at
    batch.ranges[2 * i + 1] = end
    batch.topics[2 * i] = topicStart
    batch.topics[2 * i + 1] = topicEnd
    batch.ids[i] = id
    batch.qos[i] = qos
    batch.count = i + 1
  }

  return {
    feed(chunk) {
      if (skip > 0) {
        if (chunk.length <= skip) {
          skip -= chunk.length
          return 0
        }
        chunk = chunk.subarray(skip)
        skip = 0
      }
      if (parts.length === 0) return scan(chunk)
      parts.push(chunk)
      have += chunk.length
      if (have < need) return 0
      const whole = Buffer.concat(parts, have)
      parts = []
      return scan(whole)
    },
  }
}

function newBatch(bytes: Buffer, capacity: number): PublishBatch {
  return {
    bytes,
    count: 0,
    ranges: new Uint32Array(2 * capacity),
    topics: new Uint32Array(2 * capacity),
    ids: new Uint16Array(capacity),
    qos: new Uint8Array(capacity),
    userProperties: null,
  }
}

function grow(batch: PublishBatch): void {
  const bigger = <T extends Uint32Array | Uint16Array | Uint8Array>(old: T, fresh: T): T => {
    fresh.set(old)
    return fresh
  }
  const capacity = batch.qos.length * 2 + 8
  batch.ranges = bigger(batch.ranges, new Uint32Array(2 * capacity))
  batch.topics = bigger(batch.topics, new Uint32Array(2 * capacity))
  batch.ids = bigger(batch.ids, new Uint16Array(capacity))
  batch.qos = bigger(batch.qos, new Uint8Array(capacity))
}

/** QoS and packet id of a PUBLISH whose first bytes are there; undefined when too few are. */
function headOfPublish(bytes: Buffer, pos: number, start: number): { qos: number; id: number } | undefined {
  const qos = ((bytes[pos] as number) >> 1) & 3
  if (qos === 0) return { qos, id: 0 }
  if (start + 2 > bytes.length) return undefined
  const at = start + 2 + bytes.readUInt16BE(start)
  return at + 2 > bytes.length ? undefined : { qos, id: bytes.readUInt16BE(at) }
}

/** Size of a property's value: -1 variable byte integer, -2 length-prefixed, -3 a pair of those; by property id (MQTT 5, 2.2.2.2). */
const propertySizes: Readonly<Record<number, number>> = { 1: 1, 2: 4, 3: -2, 8: -2, 9: -2, 11: -1, 35: 2, 38: -3 }

/** Reads the properties of a PUBLISH at `at`; returns where the payload starts. Only user properties are kept. */
function readProperties(batch: PublishBatch, index: number, at: number, end: number): number {
  const bytes = batch.bytes
  const varint = (): number => {
    let value = 0
    for (let shift = 0; shift <= 21; shift += 7) {
      if (at >= end) break
      const byte = bytes[at++] as number
      value += (byte & 127) * 2 ** shift
      if (byte < 128) return value
    }
    throw malformed('a cut-off property length')
  }
  const prefixed = (limit: number): string => {
    const length = at + 2 <= limit ? bytes.readUInt16BE(at) : -1
    if (length < 0 || at + 2 + length > limit) throw malformed('a property longer than its packet')
    const value = bytes.toString('utf8', at + 2, at + 2 + length)
    at += 2 + length
    return value
  }
  const length = varint()
  if (length === 0) return at
  const limit = at + length
  if (limit > end) throw malformed('properties longer than their packet')
  while (at < limit) {
    const id = bytes[at++] as number
    const size = propertySizes[id]
    if (size === undefined) throw malformed(`an unknown property ${id} in a PUBLISH`)
    if (size > 0) at += size
    else if (size === -1) varint()
    else if (size === -2) prefixed(limit)
    else {
      const key = prefixed(limit)
      const value = prefixed(limit)
      batch.userProperties ??= new Map()
      const pairs = batch.userProperties.get(index) ?? new Map<string, string>()
      batch.userProperties.set(index, pairs.set(key, value))
    }
  }
  if (at > limit) throw malformed('a property longer than its packet')
  return limit
}

function malformed(what: string): IxionError {
  return new IxionError('CONNECTION', `malformed MQTT from the broker: ${what}`)
}

/** PUBACK (QoS 1) and PUBREC (QoS 2) frames for packet ids, one buffer. */
export function ackFrames(acks: readonly { readonly id: number; readonly qos: number }[]): Buffer {
  const bytes = Buffer.allocUnsafe(acks.length * 4)
  acks.forEach(({ id, qos }, i) => {
    bytes[4 * i] = qos === 2 ? 0x50 : 0x40
    bytes[4 * i + 1] = 2
    bytes.writeUInt16BE(id, 4 * i + 2)
  })
  return bytes
}

export interface OutgoingPublish {
  readonly topic: string
  readonly payload: Uint8Array
  readonly retain: boolean
  /** MQTT 5 only. */
  readonly userProperties: readonly (readonly [string, string])[]
}

/** QoS 0 PUBLISH frames, in order, as few buffers as sensible (large payloads are not copied). */
export function publishFrames(messages: readonly OutgoingPublish[], version: number): Buffer[] {
  const out: Buffer[] = []
  let small: Buffer[] = []
  const flush = (): void => {
    if (small.length > 0) out.push(small.length === 1 ? (small[0] as Buffer) : Buffer.concat(small))
    small = []
  }
  for (const message of messages) {
    const payload = Buffer.from(message.payload.buffer, message.payload.byteOffset, message.payload.byteLength)
    small.push(publishHead(message, version))
    if (payload.length < 16_384) {
      small.push(payload)
    } else {
      flush()
      out.push(payload)
    }
  }
  flush()
  return out
}

function publishHead(message: OutgoingPublish, version: number): Buffer {
  const topic = Buffer.from(message.topic)
  const properties = version === 5 ? userPropertyBytes(message.userProperties) : null
  const propertyLength = properties ? variableInt(properties.length) : null
  const remaining =
    2 + topic.length + (properties ? properties.length + (propertyLength as Buffer).length : 0) + message.payload.length
  if (remaining > MAX_REMAINING) {
    throw new IxionError('LIMIT', `a message of ${message.payload.length} bytes is more than MQTT can carry`)
  }
  const length = variableInt(remaining)
  const head = [
    Buffer.from([0x30 | (message.retain ? 1 : 0)]),
    length,
    Buffer.from([topic.length >> 8, topic.length & 255]),
    topic,
  ]
  if (properties) head.push(propertyLength as Buffer, properties)
  return Buffer.concat(head)
}

function userPropertyBytes(pairs: readonly (readonly [string, string])[]): Buffer {
  const parts: Buffer[] = []
  for (const [key, value] of pairs) {
    const k = Buffer.from(key)
    const v = Buffer.from(value)
    if (k.length > 65_535 || v.length > 65_535) {
      throw new IxionError('LIMIT', `the user property ${key.slice(0, 40)} is longer than 65535 bytes`)
    }
    parts.push(Buffer.from([38, k.length >> 8, k.length & 255]), k, Buffer.from([v.length >> 8, v.length & 255]), v)
  }
  return Buffer.concat(parts)
}

function variableInt(value: number): Buffer {
  const bytes: number[] = []
  do {
    const rest = value >>> 7
    bytes.push((value & 127) | (rest > 0 ? 128 : 0))
    value = rest
  } while (value > 0)
  return Buffer.from(bytes)
}
