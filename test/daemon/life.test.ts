import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { connectAsync } from 'mqtt'
import { afterEach, describe, expect, it } from 'vitest'
import { type Daemon, installation, ixionProgram, startDaemon } from '../support/daemon.ts'

const folders: ReturnType<typeof installation>[] = []
const daemons: Daemon[] = []

function install(): ReturnType<typeof installation> {
  const made = installation()
  folders.push(made)
  return made
}
async function start(...given: Parameters<typeof startDaemon>): Promise<Daemon> {
  const daemon = await startDaemon(...given)
  daemons.push(daemon)
  return daemon
}
afterEach(async () => {
  for (const daemon of daemons.splice(0)) {
    daemon.child.kill('SIGKILL')
    await daemon.exit
  }
  for (const folder of folders.splice(0)) folder.remove()
})

const stream = JSON.stringify({
  sql: 'CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="in", FORMAT="json")',
})
const rule = JSON.stringify({
  id: 'hot',
  sql: 'SELECT id, temp FROM demo WHERE temp > 20',
  actions: [{ memory: { topic: 'out' } }],
})

async function running(daemon: Daemon, id: string): Promise<void> {
  for (;;) {
    const { status, body } = await daemon.request('GET', `/rules/${id}/status`)
    if (status === 200 && JSON.parse(body).status === 'running') return
  }
}

describe('the daemon', () => {
  it('creates its folders, keeps definitions, and starts rules again after a restart', async () => {
    const folder = install()
    const first = await start(folder)
    expect(await first.request('GET', '/ping')).toEqual({ status: 200, body: '' })
    expect(await first.request('POST', '/streams', stream)).toEqual({ status: 201, body: 'Stream demo is created.' })
    expect((await first.request('POST', '/rules', rule)).body).toBe('Rule hot was created successfully.')
    const rows = '[{"id":9007199254740993,"temp":21},{"id":2,"temp":3},{"id":3,"temp":"warm"}]'
    expect((await first.request('POST', '/streams/demo/data', rows)).body).toBe('{"accepted":3,"rules":1}')
    first.child.kill('SIGTERM')
    expect(await first.exit).toEqual({ code: 0, signal: null })

    const second = await start(folder)
    expect((await second.request('GET', '/rules/hot')).body).toBe(rule)
    await running(second, 'hot')
    expect((await second.request('POST', '/rules/hot/stop')).body).toBe('Rule hot was stopped.')
    second.child.kill('SIGTERM')
    await second.exit

    const third = await start(folder)
    const status = JSON.parse((await third.request('GET', '/rules/hot/status')).body)
    expect(status.status).toBe('stopped')
  })

  it('prints the ledger of every rule at SIGTERM, and it is exact', async () => {
    const daemon = await start(install())
    await daemon.request('POST', '/streams', stream)
    await daemon.request('POST', '/rules', rule)
    await daemon.request('POST', '/streams/demo/data', '[{"temp":30},{"temp":3},{"temp":"warm"},{"temp":40}]')
    daemon.child.kill('SIGTERM')
    expect((await daemon.exit).code).toBe(0)
    const line = daemon
      .stdout()
      .split('\n')
      .find((l) => l.startsWith('ledger '))
    const { rule: id, received, emitted, filtered, dropped, inFlight } = JSON.parse((line ?? '').slice(7))
    const lost = Object.values(dropped as Record<string, number>).reduce((a, b) => a + b, 0)
    expect({ id, received, emitted, filtered, lost, inFlight }).toEqual({
      id: 'hot',
      received: 4,
      emitted: 2,
      filtered: 1,
      lost: 1,
      inFlight: 0,
    })
  })

  it('drains what it accepted, and leaves at once at the second signal', async () => {
    const daemon = await start(install())
    await daemon.request('POST', '/streams', stream)
    const stuck = { server: 'tcp://127.0.0.1:9', topic: 'x', enableCache: true, resendInterval: 100 }
    await daemon.request(
      'POST',
      '/rules',
      JSON.stringify({ id: 's', sql: 'SELECT * FROM demo', actions: [{ mqtt: stuck }] }),
    )
    await daemon.request('POST', '/streams/demo/data', '{"temp":30}')
    daemon.child.kill('SIGTERM')
    while (!daemon.stderr().includes('stopping')) await new Promise((resolve) => setImmediate(resolve))
    daemon.child.kill('SIGTERM')
    expect(await daemon.exit).toEqual({ code: 130, signal: null })
  })

  it('ends with code 0 after POST /stop', async () => {
    const daemon = await start(install())
    expect((await daemon.request('POST', '/stop')).body).toBe('stop success')
    expect(await daemon.exit).toEqual({ code: 0, signal: null })
  })

  it('says which key of which file is wrong, and how to correct it', async () => {
    const folder = install()
    mkdirSync(folder.etc, { recursive: true })
    writeFileSync(join(folder.etc, 'kuiper.yaml'), 'basic:\n  restPort: many\n')
    await expect(startDaemon(folder)).rejects.toThrow(/kuiper\.yaml, section basic: .*restPort/s)
  })

  it('takes settings from the file and the environment', async () => {
    const folder = install()
    mkdirSync(folder.etc, { recursive: true })
    writeFileSync(
      join(folder.etc, 'kuiper.yaml'),
      'basic:\n  prometheus: true\n  prometheusPort: 9081\n  restport: 9081\n',
    )
    const daemon = await start(folder, { KUIPER__BASIC__LOGLEVEL: 'error' })
    const { status, body } = await daemon.request('GET', '/metrics')
    expect(status).toBe(200)
    expect(body).toContain('kuiper_rule_count{status="running"} 0')
  })

  it('says how to start it when asked for help', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [await ixionProgram(), 'serve', '--help'])
    expect(stdout).toMatch(/^usage: ixion serve /)
  })

  it('runs an MQTT broker of its own when asked to', async () => {
    const environment = { KUIPER__BASIC__EMBEDDEDBROKER: 'true', KUIPER__BASIC__EMBEDDEDBROKERPORT: '0' }
    const daemon = await start(install(), environment)
    const server = /embedded MQTT broker on (\S+)\n/.exec(daemon.stdout())?.[1] as string
    const extra = JSON.stringify({ server }).replaceAll('"', '\\"')
    const sql = `CREATE STREAM demo () WITH (TYPE="mqtt", DATASOURCE="in", EXTRA="${extra}")`
    await daemon.request('POST', '/streams', JSON.stringify({ sql }))
    const actions = [{ mqtt: { server, topic: 'out', sendSingle: true } }]
    await daemon.request('POST', '/rules', JSON.stringify({ id: 'r', sql: 'SELECT a FROM demo', actions }))
    const client = await connectAsync(server)
    const received = new Promise((resolve) => client.on('message', (_, payload) => resolve(payload.toString())))
    await client.subscribeAsync('out')
    await client.publishAsync('in', '{"a":1,"b":2}', { retain: true })
    expect(await received).toBe('{"a":1}')
    await client.endAsync()
    daemon.child.kill('SIGTERM')
    expect((await daemon.exit).code).toBe(0)
    expect((await start(install())).stdout()).not.toContain('MQTT')
  })

  it('refuses a second daemon on the same data folder and keeps serving the first', async () => {
    const folder = install()
    const first = await start(folder)
    await first.request('POST', '/streams', stream)
    const second = await start(folder)
    const { code } = await second.exit
    expect(code).toBe(1)
    expect(second.stderr()).toContain('cannot open the store')
    expect((await first.request('GET', '/streams')).body).toBe('["demo"]')
  })
})
