import fc from 'fast-check'
import { generate, parser } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { type FrameHandlers, frameCutter, type PublishBatch, publishFrames } from './frames.ts'

interface Seen {
  messages: { topic: string; payload: string; qos: number; id: number; properties: [string, string][] }[]
  others: Buffer[]
  connacks: [boolean, boolean][]
  released: number[]
  oversized: [number, number, number][]
}

function collect(version: number, maxBytes = 1 << 20): { seen: Seen; feed(chunk: Buffer): void } {
  const seen: Seen = { messages: [], others: [], connacks: [], released: [], oversized: [] }
  const handlers: FrameHandlers = {
    publishes(batch: PublishBatch) {
      for (let i = 0; i < batch.count; i++) {
        seen.messages.push({
          topic: batch.bytes.toString('utf8', batch.topics[2 * i], batch.topics[2 * i + 1]),
          payload: batch.bytes.toString('utf8', batch.ranges[2 * i], batch.ranges[2 * i + 1]),
          qos: batch.qos[i] as number,
          id: batch.ids[i] as number,
          properties: [...(batch.userProperties?.get(i) ?? [])],
        })
      }
    },
    others: (frames) => void seen.others.push(Buffer.from(frames)),
    connack: (present, accepted) => void seen.connacks.push([present, accepted]),
    pubrel: (id) => void seen.released.push(id),
    oversized: (bytes, id, qos) => void seen.oversized.push([bytes, id, qos]),
  }
  return { seen, feed: frameCutter(version, maxBytes, handlers).feed }
}

const publish = (
  topic: string,
  payload: string,
  qos: 0 | 1 | 2,
  version: 4 | 5,
  userProperties?: Record<string, string>,
) =>
  generate(
    {
      cmd: 'publish',
      topic,
      payload,
      qos,
      dup: false,
      retain: false,
      ...(qos > 0 && { messageId: 7 }),
      ...(userProperties && { properties: { userProperties, contentType: 'x', messageExpiryInterval: 9 } }),
    },
    { protocolVersion: version },
  )

const packet = fc.oneof(
  fc.record({
    kind: fc.constant('publish' as const),
    topic: fc.stringMatching(/^[a-z]{1,8}(\/[a-zé]{1,6}){0,3}$/),
    payload: fc.string({ maxLength: 400 }),
    qos: fc.constantFrom(0 as const, 1 as const, 2 as const),
  }),
  fc.record({ kind: fc.constantFrom('pingresp' as const, 'suback' as const, 'puback' as const, 'pubrel' as const) }),
)

describe('frame cutter', () => {
  it.each([4, 5] as const)('cuts any split of any packets as a full parser would (MQTT %s)', (version) => {
    fc.assert(
      fc.property(
        fc.array(packet, { maxLength: 40 }),
        fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1 }),
        (packets, sizes) => {
          const frames = packets.map((one) => {
            if (one.kind === 'publish') {
              return publish(
                one.topic,
                one.payload,
                one.qos,
                version,
                version === 5 && one.payload.length % 2 ? { k: 'v' } : undefined,
              )
            }
            if (one.kind === 'pingresp') return generate({ cmd: 'pingresp' }, { protocolVersion: version })
            if (one.kind === 'suback')
              return generate({ cmd: 'suback', messageId: 1, granted: [0] } as never, { protocolVersion: version })
            return generate({ cmd: one.kind, messageId: 3 } as never, { protocolVersion: version })
          })
          const stream = Buffer.concat(frames)
          const { seen, feed } = collect(version)
          for (let at = 0, n = 0; at < stream.length; n++) {
            const size = sizes[n % sizes.length] as number
            feed(stream.subarray(at, at + size))
            at += size
          }
          const wanted = packets.flatMap((one) => (one.kind === 'publish' ? [one] : []))
          expect(seen.messages.map(({ topic, payload, qos }) => ({ topic, payload, qos }))).toEqual(
            wanted.map(({ topic, payload, qos }) => ({ topic, payload: Buffer.from(payload).toString(), qos })),
          )
          expect(seen.messages.map(({ id }) => id)).toEqual(wanted.map(({ qos }) => (qos > 0 ? 7 : 0)))
          const rest = packets.flatMap((one, i) => (one.kind === 'publish' ? [] : [frames[i] as Buffer]))
          expect(Buffer.concat(seen.others)).toEqual(Buffer.concat(rest))
          expect(seen.released.length).toBe(packets.filter((one) => one.kind === 'pubrel').length)
        },
      ),
      { numRuns: 150 },
    )
  })

  it('keeps MQTT 5 user properties and drops the other properties', () => {
    const { seen, feed } = collect(5)
    feed(publish('t', 'p', 0, 5, { unit: 'C', __proto__x: 'y' }))
    expect(seen.messages).toEqual([
      {
        topic: 't',
        payload: 'p',
        qos: 0,
        id: 0,
        properties: [
          ['unit', 'C'],
          ['__proto__x', 'y'],
        ],
      },
    ])
  })

  it('skips a message beyond the limit without keeping its bytes, and goes on behind it', () => {
    const { seen, feed } = collect(4, 1000)
    const stream = Buffer.concat([
      publish('a', 'one', 0, 4),
      publish('big', 'x'.repeat(5000), 1, 4),
      publish('b', 'two', 0, 4),
    ])
    for (let at = 0; at < stream.length; at += 100) feed(stream.subarray(at, at + 100))
    expect(seen.messages.map(({ payload }) => payload)).toEqual(['one', 'two'])
    expect(seen.oversized).toEqual([[5010, 7, 1]])
    const again = collect(4, 1000)
    again.feed(stream)
    expect(again.seen.messages.map(({ payload }) => payload)).toEqual(['one', 'two'])
    expect(again.seen.oversized).toEqual([[5010, 7, 1]])
  })

  it.each([
    ['a reserved type', Buffer.from([0x00, 0])],
    ['a length of five bytes', Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, 1])],
    ['a topic beyond its packet', Buffer.from([0x30, 4, 0, 50, 97, 98])],
    ['QoS 3', Buffer.from([0x36, 5, 0, 1, 97, 0, 1])],
    ['an empty topic', Buffer.from([0x30, 2, 0, 0])],
  ])('refuses %s', (_name, bytes) => {
    expect(() => collect(4).feed(bytes)).toThrow(/malformed MQTT/)
  })

  it('never crashes and never loops on random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.constantFrom(4, 5), (bytes, version) => {
        try {
          collect(version).feed(Buffer.from(bytes))
        } catch (error) {
          expect(String(error)).toMatch(/malformed MQTT/)
        }
      }),
    )
  })
})

describe('publish frames', () => {
  it.each([4, 5] as const)('are what a parser reads back (MQTT %s)', (version) => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ topic: fc.stringMatching(/^[a-z]{1,8}$/), size: fc.integer({ min: 0, max: 40_000 }) }), {
          minLength: 1,
          maxLength: 8,
        }),
        (list) => {
          const frames = publishFrames(
            list.map(({ topic, size }) => ({
              topic,
              payload: Buffer.alloc(size, 120),
              retain: size % 2 === 1,
              userProperties: [['a', 'b']] as const,
            })),
            version,
          )
          const reader = parser({ protocolVersion: version })
          const seen: { topic: string; size: number }[] = []
          reader.on('packet', (packet) => {
            if (packet.cmd === 'publish') seen.push({ topic: packet.topic, size: packet.payload.length })
          })
          reader.parse(Buffer.concat(frames))
          expect(seen).toEqual(list)
        },
      ),
      { numRuns: 60 },
    )
  })
})
