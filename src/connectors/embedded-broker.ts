/** A small MQTT 3.1.1 broker inside the process (aedes), for `npm start` and the option `embeddedBroker`. */
import { createServer, type Socket } from 'node:net'
import { IxionError, messageOf } from '../core/errors.ts'

export interface EmbeddedBroker {
  readonly host: string
  readonly port: number
  /** `mqtt://host:port` */
  readonly url: string
  close(): Promise<void>
}

/** Listens on a loopback address by default; `port` 0 takes a free one. Throws CONNECTION when the port is taken. */
export async function startEmbeddedBroker(
  options: { readonly host?: string; readonly port?: number } = {},
): Promise<EmbeddedBroker> {
  const host = options.host ?? '127.0.0.1'
  const { Aedes } = await import('aedes')
  const broker = await Aedes.createBroker()
  const server = createServer((socket) => broker.handle(socket))
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(options.port ?? 0, host, resolve)
    })
  } catch (error) {
    await new Promise<void>((resolve) => broker.close(() => resolve()))
    throw new IxionError(
      'CONNECTION',
      `the embedded broker cannot listen on ${host}:${options.port ?? 0}: ${messageOf(error)}`,
      {
        hint: 'Another broker may be running there; choose another port or switch the embedded broker off.',
        cause: error,
      },
    )
  }
  const port = (server.address() as { port: number }).port
  let closing: Promise<void> | undefined
  return {
    host,
    port,
    url: `mqtt://${host}:${port}`,
    close() {
      closing ??= (async () => {
        const closed = new Promise<void>((resolve) => server.close(() => resolve()))
        for (const socket of sockets) socket.destroy()
        await new Promise<void>((resolve) => broker.close(() => resolve()))
        await closed
      })()
      return closing
    },
  }
}
