/**
 * The stream given to the MQTT client library: it sits on the socket, takes PUBLISH frames out of what arrives (frames.ts) and
 * passes the rest on. Everything the library writes goes to the socket.
 */
import { Duplex } from 'node:stream'
import type { Clock } from '../../core/clock.ts'
import type { FrameCutter } from './frames.ts'

const PINGREQ = 0xc0
const pingResponse = Buffer.from([0xd0, 0])

export interface WireStream extends Duplex {
  /** Stops reading the socket: TCP pushes back on the broker. */
  hold(): void
  /** Reads on. */
  go(): void
}

/**
 * Brokers write each message by itself, so that under load a read of the socket brings few messages and costs more than they do.
 * From this many messages a millisecond on, the socket is left alone for two milliseconds between reads: then one read brings
 * many. A slower stream is never delayed.
 */
const BUSY = 25
const READS = 8
/** The first read after a rest may bring one message only: a sender with Nagle's algorithm waits for it before it sends the rest. */
const READS_BUSY = 2
/** ms */
const NAP = 2

/**
 * `dial` opens the connection and calls `onData` with what arrives; its `pause` and `resume` stop and go on reading. The cutter
 * hands other frames to the function it is built with: the stream's `push`.
 */
export function wireStream(
  dial: (onData: (chunk: Buffer) => void) => Duplex,
  clock: Clock,
  makeCutter: (passOn: (frames: Buffer) => void) => FrameCutter,
): WireStream {
  let held = false
  let napping = false
  let busy = false
  let reads = 0
  let messages = 0
  let since = clock.monotonic()
  const stream = new Duplex({
    read() {
      // What passes on is small (acknowledgements, pings); the socket is paused by hold() alone.
    },
    write(chunk: Buffer, _encoding, done) {
      answerPing(chunk)
      socket.write(chunk, done)
    },
    writev(chunks, done) {
      for (const { chunk } of chunks) answerPing(chunk as Buffer)
      socket.write(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer)), done)
    },
    final(done) {
      // The peer's end may stand behind unread publishes, so it is not waited for.
      socket.end(() => {
        socket.destroy()
        done()
      })
    },
    destroy(error, done) {
      socket.destroy()
      done(error)
    },
  }) as WireStream
  const cutter = makeCutter((frames) => {
    stream.push(frames)
  })
  /** While nothing is read the answer to a ping is not seen either; without one the library would give up a good connection. */
  const answerPing = (chunk: Buffer): void => {
    if (held && chunk.length === 2 && chunk[0] === PINGREQ) stream.push(pingResponse)
  }
  const rest = (count: number): void => {
    reads++
    messages += count
    if (reads < (busy ? READS_BUSY : READS)) return
    const now = clock.monotonic()
    busy = now > since && messages / (now - since) >= (busy ? BUSY / 2 : BUSY)
    // A read that brought many already needs no rest.
    const rests = busy && messages / reads < 256
    reads = 0
    messages = 0
    since = now
    if (!rests) return
    napping = true
    socket.pause()
    clock.after(NAP, () => {
      napping = false
      if (!held) socket.resume()
    })
  }
  const socket = dial((chunk) => {
    try {
      rest(cutter.feed(chunk))
    } catch (error) {
      stream.destroy(error as Error)
    }
  })
  socket.on('end', () => stream.push(null))
  socket.on('error', (error) => stream.destroy(error))
  socket.on('close', () => stream.destroy())
  stream.hold = () => {
    held = true
    socket.pause()
  }
  stream.go = () => {
    held = false
    if (!napping) socket.resume()
  }
  return stream
}
