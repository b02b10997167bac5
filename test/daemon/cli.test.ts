import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Daemon, installation, runClient, startDaemon } from '../support/daemon.ts'

const folder = installation()
let daemon: Daemon

beforeAll(async () => {
  daemon = await startDaemon(folder)
})
afterAll(async () => {
  daemon.child.kill('SIGKILL')
  await daemon.exit
  folder.remove()
})

const ok = async (...words: string[]): Promise<string> => {
  const { code, stdout } = await runClient(daemon, words)
  expect([code, stdout]).toEqual([0, stdout])
  return stdout
}

describe('the command line client', () => {
  it('goes through the life of a stream and a rule', async () => {
    expect(await ok('show', 'streams')).toBe('No stream definitions are found.\n\n')
    expect(
      await ok(
        'create',
        'stream',
        'demo',
        '(temp FLOAT, id STRING) WITH (TYPE="memory", DATASOURCE="in", FORMAT="json")',
      ),
    ).toBe('Stream demo is created.\n\n')
    expect(await ok('show', 'streams')).toBe('demo\n\n')
    expect(await ok('describe', 'stream', 'demo')).toBe(
      `Fields\n${'-'.repeat(80)}\ntemp\tfloat\nid\tstring\n\nDATASOURCE: in\nFORMAT: json\nTYPE: memory\n\n`,
    )
    expect(JSON.parse(await ok('describe', 'stream', 'demo', '-json'))).toEqual({
      Fields: [
        { Name: 'temp', Type: 'float' },
        { Name: 'id', Type: 'string' },
      ],
      Options: { 'DATASOURCE:': 'in', 'FORMAT:': 'json', 'TYPE:': 'memory' },
    })
    const document = '{"sql":"SELECT * FROM demo WHERE temp > 20","actions":[{"nop":{}}]}'
    expect(await ok('validate', 'rule', 'hot', document)).toBe(
      'The rule has been successfully validated and is confirmed to be correct.\n',
    )
    expect(await ok('create', 'rule', 'hot', document)).toBe(
      "Rule hot was created successfully, please use 'bin/kuiper getstatus rule hot' command to get rule status.\n",
    )
    expect(JSON.parse(await ok('show', 'rules'))).toMatchObject([{ id: 'hot', status: 'running' }])
    expect(await ok('push', 'demo', '[{"temp":25},{"temp":1}]')).toBe('2 rows accepted by 1 rules\n')
    expect(JSON.parse(await ok('ledger', 'rule', 'hot', '-o', 'json')).rule).toMatchObject({ received: 2, emitted: 1 })
    expect(JSON.parse(await ok('getstatus', 'rule', 'hot')).status).toBe('running')
    expect(JSON.parse(await ok('gettopo', 'rule', 'hot')).sources).toEqual(['source_demo'])
    expect(await ok('explain', 'rule', 'hot')).toContain('ProjectPlan_0')
    expect(JSON.parse(await ok('describe', 'rule', 'hot'))).toMatchObject({ id: 'hot' })
    expect(await ok('stop', 'rule', 'hot')).toBe('Rule hot was stopped.\n')
    expect(await ok('start', 'rule', 'hot')).toBe('Rule hot was started\n')
    expect(await ok('restart', 'rule', 'hot')).toBe('Rule hot was restarted.\n')

    const exported = join(folder.data, 'rules.json')
    expect(await ok('export', 'ruleset', exported)).toBe('exported 1 streams, 0 tables and 1 rules\n')
    expect(await ok('drop', 'rule', 'hot')).toBe('Rule hot is dropped.\n')
    expect(await ok('drop', 'stream', 'demo')).toBe('Stream demo is dropped.\n\n')
    expect(Object.keys(JSON.parse(readFileSync(exported, 'utf8')).rules)).toEqual(['hot'])
    expect(await ok('import', 'ruleset', '-f', exported)).toBe('imported 1 streams, 0 tables and 1 rules\n')
    expect(JSON.parse(await ok('show', 'rules', '-o', 'json'))).toMatchObject([{ id: 'hot' }])
  })

  it('reads definitions from files', async () => {
    const file = join(folder.data, 'stream.sql')
    writeFileSync(file, 'filed () WITH (TYPE="memory", DATASOURCE="in")')
    expect(await ok('create', 'stream', '-f', file)).toBe(
      `Creating a new stream from file ${file}.\nStream filed is created.\n\n`,
    )
  })

  it.each([
    [['describe', 'rule', 'none'], 'Desc rule error : Rule none is not found..'],
    [['drop', 'rule', 'none'], 'Drop rule error : rule none not found.'],
    [['start', 'rule', 'none'], 'Rule none is not found in registry, please check if it is created'],
    [['getstatus', 'rule', 'none'], 'Rule none is not found'],
    [['create', 'rule', 'bad', '{"sql":'], /^Create rule bad error : invalid rule json: /],
    [['create', 'rule', 'bad'], 'Expect rule name and json.\nBut found 1 args:[bad].'],
    [['drop', 'stream', 'none'], 'Stream command error: Drop stream fails: stream none is not found.'],
    [['create', 'stream', '-f', '/none'], 'The specified stream defenition file /none is not existed.'],
    [['import', 'data', '-f', '/none'], /^fail to read file \/none/],
    [['frobnicate'], /^unknown command frobnicate/],
  ])('%j fails with a message and code 1', async (words, message) => {
    const { code, stdout } = await runClient(daemon, words)
    expect(code).toBe(1)
    if (typeof message === 'string') expect(stdout).toBe(`${message}\n`)
    else expect(stdout).toMatch(message)
  })

  it('announces the server under the name of the reference', async () => {
    const { stdout } = await runClient(daemon, ['show', 'tables'], 'kuiper')
    expect(stdout).toBe(`Connecting to ${new URL(daemon.url).host}... \nNo table definitions are found.\n\n`)
  })
})
