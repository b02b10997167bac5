/** MQTT over TLS, web sockets and 3.1 against real brokers; what the stream wrapper does while it is held. */
import { readFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { connect, createServer } from 'node:net'
import { PassThrough } from 'node:stream'
import { createServer as createTlsServer } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { createWebSocketStream, WebSocketServer } from 'ws'
import {
  certificates,
  eventually,
  item,
  makeSink,
  makeSource,
  mosquittoBinary,
  never,
  run,
  startAedes,
  startMosquitto,
  testContext,
} from '../../../test/support/connectors.ts'
import { systemClock } from '../../core/clock.ts'
import type { IxionError } from '../../core/errors.ts'
import type { ValueObject } from '../../core/values.ts'
import { mqtt } from './index.ts'
import { wireStream } from './wire-stream.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function throughIt(server: string, properties: ValueObject = {}): Promise<void> {
  const running = await run(makeSource(mqtt.source, 'via', { server, ...properties }, testContext()))
  const sink = makeSink(mqtt.sink, { server, topic: 'via', qos: 1, ...properties }, testContext())
  cleanups.push(
    () => running.stop(),
    () => sink.close(),
  )
  await sink.connect(never())
  await eventually(async () => {
    await sink.send(item('hello'), never())
    return running.texts().includes('hello')
  })
  const large = 'x'.repeat(500_000)
  await sink.send(item(large), never())
  await eventually(() => running.texts().includes(large))
}

async function listen(server: {
  listen(port: number, host: string, done: () => void): unknown
  address(): unknown
  close(done: () => void): unknown
}): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => new Promise<void>((resolve) => server.close(resolve)))
  return (server.address() as { port: number }).port
}

describe('transports', () => {
  it('TLS: with the authority it works, without it the certificate is refused, insecureSkipVerify accepts it', async () => {
    const files = await certificates()
    cleanups.push(() => files.remove())
    const broker = await startAedes()
    cleanups.push(() => broker.close())
    const port = Number(new URL(broker.url).port)
    const server = createTlsServer({ cert: await readFile(files.cert), key: await readFile(files.key) }, (socket) => {
      const inner = connect(port, '127.0.0.1')
      socket.on('error', () => inner.destroy())
      inner.on('error', () => socket.destroy())
      socket.pipe(inner).pipe(socket)
    })
    const url = `ssl://127.0.0.1:${await listen(server)}`
    await throughIt(url, { rootCaPath: files.ca })
    await throughIt(url, { rootCARaw: (await readFile(files.ca)).toString('base64'), tlsMinVersion: 'tls1.3' })
    await throughIt(url, { insecureSkipVerify: true })
    const untrusting = makeSource(mqtt.source, 'x', { server: url }, testContext())
    const failure = (await untrusting.connect(never()).catch((error) => error)) as IxionError
    expect(failure.message).toMatch(/certificate/)
    await untrusting.close()
    const unreadable = makeSource(mqtt.source, 'x', { server: url, rootCaPath: '/nowhere.pem' }, testContext())
    await expect(unreadable.connect(never())).rejects.toThrow('cannot read rootCaPath /nowhere.pem')
    const half = makeSource(mqtt.source, 'x', { server: url, certificationPath: files.cert }, testContext())
    await expect(half.connect(never())).rejects.toThrow('privateKeyPath is missing')
  })

  it('web sockets', async () => {
    const broker = await startAedes()
    cleanups.push(() => broker.close())
    const port = Number(new URL(broker.url).port)
    const http = createHttpServer()
    new WebSocketServer({ server: http, handleProtocols: () => 'mqtt' }).on('connection', (socket) => {
      const stream = createWebSocketStream(socket)
      const inner = connect(port, '127.0.0.1')
      stream.on('error', () => inner.destroy())
      inner.on('error', () => stream.destroy())
      stream.pipe(inner).pipe(stream)
    })
    cleanups.push(() => http.closeAllConnections())
    await throughIt(`ws://127.0.0.1:${await listen(http)}/mqtt`)
  })

  // aedes speaks no MQTT 3.1; .ci/run installs mosquitto.
  it.skipIf(!mosquittoBinary())('MQTT 3.1 and a server without scheme', async () => {
    const broker = await startMosquitto()
    cleanups.push(() => broker.close())
    await throughIt(broker.url.replace('tcp://', ''), { protocolVersion: '3.1' })
  })

  it('a named connection is dialled at once, shared, and tells its status', async () => {
    const broker = await startAedes()
    cleanups.push(() => broker.close())
    const context = testContext()
    const named = await mqtt.connection?.acquire('plant', { server: broker.url, protocolVersion: '3.1.1' }, context)
    if (!named) throw new Error('no connection kind')
    await eventually(() => named.status.status === 1)
    const running = await run(
      makeSource(mqtt.source, 'n', { server: broker.url, connectionSelector: 'plant' }, context),
    )
    expect([...context.resources.usage()]).toEqual([['mqtt/plant', 2]])
    await broker.stop()
    await eventually(() => named.status.status !== 1)
    expect(named.status.message).not.toBe('')
    await running.stop()
    await named.release()
    expect(context.resources.usage().size).toBe(0)
  })

  it('garbage from a server that is no broker is an error, not a crash', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.resume()
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
    })
    const source = makeSource(mqtt.source, 'x', { server: `tcp://127.0.0.1:${await listen(server)}` }, testContext())
    await expect(source.connect(never())).rejects.toMatchObject({ code: 'CONNECTION' })
    await source.close()
  })
})

describe('stream wrapper', () => {
  it('answers pings itself while it is held, so that the connection is not given up', async () => {
    const socket = new PassThrough()
    const stream = wireStream(
      (onData) => socket.on('data', onData),
      systemClock,
      () => ({ feed: () => 0 }),
    )
    const seen: Buffer[] = []
    stream.on('data', (chunk) => void seen.push(chunk))
    stream.write(Buffer.from([0xc0, 0]))
    await new Promise((resolve) => setImmediate(resolve))
    expect(seen).toEqual([])
    stream.hold()
    stream.write(Buffer.from([0xc0, 0]))
    await eventually(() => seen.length === 1)
    expect(seen[0]).toEqual(Buffer.from([0xd0, 0]))
    stream.destroy()
  })
})
