/**
 * One path of the data server that takes pushed bodies for all streams on it. A request is answered 200 `ok` when every stream
 * has accepted its body; 503 when one refused it or acceptance took too long.
 */
import type { ServerResponse } from 'node:http'
import type { Timer } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import type { ConnectorContext, Deliver } from '../contract.ts'
import { acquireDataServer, answer, type DataServer } from '../data-server.ts'

export interface PushEndpoint {
  /** Adds a stream; the endpoint answers 404 while there is none. Returns the way out. */
  attach(deliver: Deliver): () => void
  close(): Promise<void>
}

/** Bodies delivered together when several wait for room. */
const MAX_TOGETHER = 256

/** A request that waits for its streams. */
interface Waiting {
  readonly body: Buffer
  /** Streams that have not accepted it. */
  open: number
  finish(error: Error | null): void
  /** Answered already, or the client has gone: not to be delivered any more. */
  over: boolean
}

interface Stream {
  readonly deliver: Deliver
  queue: Waiting[]
  busy: boolean
}

/** The endpoint shared by all streams with this method and path; give it back with `release`. */
export async function acquireEndpoint(
  method: string,
  path: string,
  context: ConnectorContext,
): Promise<{ readonly endpoint: PushEndpoint; release(): Promise<void> }> {
  const key = `httppush/${method} ${path}`
  const endpoint = await context.resources.acquire(key, () => openEndpoint(method, path, context))
  return { endpoint, release: () => context.resources.release(key) }
}

async function openEndpoint(method: string, path: string, context: ConnectorContext): Promise<PushEndpoint> {
  const { server, release } = await acquireDataServer(context)
  let streams: readonly Stream[] = []
  let leave: (() => void) | undefined

  const pump = (stream: Stream): void => {
    while (!stream.busy && stream.queue.length > 0) {
      const together = stream.queue.splice(0, MAX_TOGETHER).filter((one) => !one.over)
      if (together.length === 0) continue
      let room: void | Promise<void>
      try {
        room = stream.deliver({
          kind: 'bytes',
          payloads: together.map((one) => one.body),
          meta: [null],
          timestamp: context.clock.now(),
          settled: (error) => {
            for (const one of together) settle(one, error)
          },
        })
      } catch (error) {
        for (const one of together) settle(one, error as Error)
        continue
      }
      if (room) {
        stream.busy = true
        const done = (): void => {
          stream.busy = false
          pump(stream)
        }
        room.then(done, (error) => {
          context.log.error(`httppush ${path}: ${messageOf(error)}`)
          done()
        })
      }
    }
  }
  const settle = (one: Waiting, error: Error | null): void => {
    if (error) one.finish(error)
    else if (--one.open === 0) one.finish(null)
  }

  const accept = (body: { readonly bytes: Buffer; free(): void }, response: ServerResponse): void => {
    if (streams.length === 0) {
      body.free()
      answer(response, 404, '404 page not found\n')
      return
    }
    const waiting: Waiting = {
      body: body.bytes,
      open: streams.length,
      over: false,
      finish(error) {
        if (waiting.over) return
        waiting.over = true
        timer.cancel()
        body.free()
        if (error) answer(response, 503, `not accepted: ${error.message}\n`, { 'retry-after': '1' })
        else answer(response, 200, 'ok')
      },
    }
    const timer: Timer = context.clock.after(server.acceptTimeout, () => waiting.finish(new Error('it took too long')))
    response.on('close', () => {
      // The client does not wait any longer: what has not been delivered need not be.
      if (!response.writableFinished) waiting.finish(new Error('the client has gone'))
    })
    for (const stream of streams) {
      stream.queue.push(waiting)
      pump(stream)
    }
  }

  const serve = (running: DataServer): (() => void) =>
    running.route(method, path, (request, response) => {
      running.body(request, response).then(
        (body) => body && accept(body, response),
        (error) => answer(response, 400, `Fail to decode data: ${messageOf(error)}`),
      )
    })

  return {
    attach(deliver) {
      const stream: Stream = { deliver, queue: [], busy: false }
      streams = [...streams, stream]
      leave ??= serve(server)
      return () => {
        streams = streams.filter((one) => one !== stream)
        for (const one of stream.queue) settle(one, new Error('the stream was stopped'))
        stream.queue = []
        if (streams.length === 0) {
          leave?.()
          leave = undefined
        }
      }
    },
    async close() {
      leave?.()
      leave = undefined
      await release()
    },
  }
}
