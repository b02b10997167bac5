import { createCipheriv, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  certificates,
  eventually,
  item,
  makeSink,
  makeSource,
  never,
  run,
  testContext,
} from '../../test/support/connectors.ts'
import { validateOptions } from '../core/validate.ts'
import type { ValueObject } from '../core/values.ts'
import { httppush } from './httppush/index.ts'
import { rest } from './rest/index.ts'
import { readTls, tlsOptions } from './tls.ts'

let files: Awaited<ReturnType<typeof certificates>>
beforeAll(async () => {
  files = await certificates()
})
afterAll(() => files.remove())

const read = (properties: ValueObject, context = testContext()) =>
  readTls(validateOptions(tlsOptions, properties, 'test'), context)

describe('TLS properties', () => {
  it('none set gives no settings; the default needs configuration', async () => {
    expect(await read({})).toBeUndefined()
    await expect(read({ tls: 'default' })).rejects.toThrow('default TLS is not configured')
    await expect(read({ tls: 'x' })).rejects.toThrow('unknown tls configuration type: x')
    const context = testContext({ defaultTls: { rootCaPath: files.ca } })
    expect((await read({ tls: 'default' }, context))?.ca).toEqual(await readFile(files.ca))
  })

  it('take the misspelt certificate name, warn about unknown versions', async () => {
    const [cert, key] = await Promise.all([readFile(files.cert), readFile(files.key)])
    const raw = { certficationRaw: cert.toString('base64'), privateKeyRaw: key.toString('base64') }
    expect(await read(raw)).toMatchObject({ cert, key, rejectUnauthorized: true, minVersion: 'TLSv1.2' })
    const context = testContext()
    expect((await read({ tlsMinVersion: 'tls9' }, context))?.minVersion).toBe('TLSv1.2')
    expect(context.logged.join()).toContain('unknown tlsMinVersion tls9')
    expect((await read({ tlsMinVersion: 'constructor' }))?.minVersion).toBe('TLSv1.2')
  })

  it('decrypt certificate and key', async () => {
    const secret = randomBytes(32)
    const plain = await readFile(files.key)
    const gcm = (bytes: Buffer): string => {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', secret, iv)
      return Buffer.concat([iv, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]).toString('base64')
    }
    const decrypt = { algorithm: 'aes', key: secret.toString('base64') }
    const settings = await read({
      certificationRaw: gcm(await readFile(files.cert)),
      privateKeyRaw: gcm(plain),
      decrypt,
    })
    expect(settings?.key).toEqual(plain)
    await expect(read({ certificationRaw: 'AAAA', privateKeyRaw: 'AAAA', decrypt })).rejects.toThrow('cannot decrypt')
  })

  it('work from the rest sink to the data server', async () => {
    const server = { host: '127.0.0.1', port: 0, tls: { certfile: files.cert, keyfile: files.key } }
    const context = testContext({ dataServer: server })
    const running = await run(makeSource(httppush.source, '/in', {}, context))
    const { acquireDataServer } = await import('./data-server.ts')
    const { server: running_, release } = await acquireDataServer(context)
    const open = async (properties: ValueObject) => {
      const sink = makeSink(
        rest.sink,
        { url: `https://127.0.0.1:${running_.port}/in`, method: 'POST', ...properties },
        context,
      )
      await sink.connect(never())
      return sink
    }
    const trusting = await open({ rootCaPath: files.ca })
    await trusting.send(item('{}'), never())
    await eventually(() => running.texts().length === 1)
    const untrusting = await open({})
    await expect(untrusting.send(item('{}'), never())).rejects.toMatchObject({ code: 'REFUSED' })
    await trusting.close()
    await untrusting.close()
    await release()
    await running.stop()
  })
})
