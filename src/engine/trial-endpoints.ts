/** Where results of trial runs are watched (spec/rest-api.md 3.5): server-sent events at `/test/{id}` of the data server. */
import type { ServerResponse } from 'node:http'
import { acquireDataServer } from '../connectors/data-server.ts'
import { connectorContext, type EngineEnvironment } from './environment.ts'
import type { Trials } from './trials.ts'

interface Endpoint {
  readonly port: number
  close(): Promise<void>
}

export class TrialEndpoints {
  readonly #environment: EngineEnvironment
  readonly #trials: Trials
  readonly #endpoints = new Map<string, Endpoint>()

  constructor(environment: EngineEnvironment, trials: Trials) {
    this.#environment = environment
    this.#trials = trials
  }

  /** Serves the trial's results from now on; the port of the data server. */
  async open(id: string): Promise<number> {
    const known = this.#endpoints.get(id)
    if (known) return known.port
    const { server, release } = await acquireDataServer(connectorContext(this.#environment, `trial ${id}`))
    const responses = new Set<ServerResponse>()
    let unroute: () => void
    try {
      unroute = server.route('GET', `/test/${id}`, (_request, response) => void this.#serve(id, response, responses))
    } catch (error) {
      await release()
      throw error
    }
    this.#endpoints.set(id, {
      port: server.port,
      async close() {
        unroute()
        for (const response of responses) response.end()
        await release()
      },
    })
    return server.port
  }

  async #serve(id: string, response: ServerResponse, responses: Set<ServerResponse>): Promise<void> {
    const results = this.#trials.results(id)
    if (!results) {
      response.writeHead(404).end()
      return
    }
    responses.add(response)
    response.once('close', () => {
      responses.delete(response)
      void results.return?.()
    })
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache',
      Connection: 'keep-alive',
      'Access-Control-Allow-Origin': '*',
    })
    response.flushHeaders()
    for await (const text of results) {
      if (response.destroyed) return
      const event = `${text
        .split('\n')
        .map((line) => `data: ${line}\n`)
        .join('')}\n`
      // A slow listener misses results in the channel, not here.
      if (!response.write(event)) await drained(response)
    }
    response.end()
  }

  async close(id: string): Promise<void> {
    const endpoint = this.#endpoints.get(id)
    this.#endpoints.delete(id)
    await endpoint?.close()
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#endpoints.keys()].map((id) => this.close(id)))
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    response.once('drain', done)
    response.once('close', done)
  })
}
