/**
 * The stream given to the MQTT client library: it sits on the socket, takes PUBLISH frames out of what arrives (frames.ts) and
 * passes the rest on. Everything the library writes goes to the socket.
 */
import { Duplex } from 'node:stream'
import type { FrameCutter } from './frames.ts'

const PINGREQ = 0xc0
const pingResponse = Buffer.from([0xd0, 0])

export interface WireStream extends Duplex {
  /** Stops reading the socket: TCP pushes back on the broker. */
  hold(): void
  /** Reads on. */
  go(): void
}

/** `cutter` hands other frames to the function it is built with: the stream's `push`. */
export function wireStream(socket: Duplex, makeCutter: (passOn: (frames: Buffer) => void) => FrameCutter): WireStream {
  let held = false
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
  socket.on('data', (chunk: Buffer) => {
    try {
      cutter.feed(chunk)
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
    socket.resume()
  }
  return stream
}
