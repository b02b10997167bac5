import { execFile, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const tsx = 'node_modules/tsx/dist/cli.mjs'

/** Runs an example as its first line says, and gives what it prints. */
function run(file: string): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [tsx, resolve(root, 'examples', file)], {
    cwd: root,
    encoding: 'utf8',
    timeout: 25_000,
  })
  expect(stderr).toBe('')
  expect(status).toBe(0)
  return stdout
}

test('embed.ts closes a window of ten seconds without waiting', () => {
  expect(run('embed.ts')).toBe(
    [
      '[',
      "  { device: 'a', n: 2n, mean: 21, peak: 22 },",
      "  { device: 'b', n: 1n, mean: 31.5, peak: 31.5 }",
      ']',
      'received 4, filtered 1, imbalance 0',
      '',
    ].join('\n'),
  )
})

test('custom-function.ts computes, and skips a row without its arguments', () => {
  expect(run('custom-function.ts')).toBe("[ { name: 'cellar', dew: 9.14 } ]\n[ { name: 'attic' } ]\n")
})

test('custom-connector.ts reads to the end and accounts for every event', () => {
  const printed = run('custom-connector.ts')
  expect(printed).toContain('> {"n":2,"square":4}\n> {"n":4,"square":16}\n> {"n":6,"square":36}\n')
  expect(printed).toMatch(/received: 6,\s+emitted: 3,\s+filtered: 3/)
})

test('rest-walkthrough.ts goes through against a daemon', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ixion-walkthrough-'))
  const serve = ['src/bin/ixion.ts', 'serve', '--port', '0', '--data', folder, '--log', folder, '--etc', folder]
  const daemon = spawn(process.execPath, [tsx, ...serve], {
    cwd: root,
    env: { ...process.env, KUIPER__SOURCE__HTTPSERVERPORT: String(await freePort()) },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const gone = new Promise((resolve) => daemon.once('exit', resolve))
  try {
    const url = await new Promise<string>((resolve, reject) => {
      let seen = ''
      daemon.stdout.on('data', (chunk) => {
        seen += chunk
        const address = /(http:\S+?)\.\s/.exec(seen)?.[1]
        if (address) resolve(address)
      })
      daemon.once('exit', () => reject(new Error(`the daemon ended: ${seen}`)))
    })
    const { stdout } = await promisify(execFile)(process.execPath, [tsx, 'examples/rest-walkthrough.ts', url], {
      cwd: root,
    })
    expect(stdout).toContain('received 3, emitted 2, filtered 1\n')
    expect(stdout).toContain('{"device":"a","temp_f":95}\n{"device":"c","temp_f":104}\n')
  } finally {
    daemon.kill('SIGTERM')
    await gone
    rmSync(folder, { recursive: true })
  }
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

test('the program in README.md runs as it stands', () => {
  const program = /```ts\n([\s\S]*?)```/.exec(readFileSync(`${root}README.md`, 'utf8'))?.[1] ?? ''
  const folder = mkdtempSync(join(tmpdir(), 'ixion-readme-'))
  writeFileSync(join(folder, 'program.mts'), program)
  try {
    expect(run(join(folder, 'program.mts'))).toBe("[ { device: 'a', mean: 21 } ]\n")
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('every example is tested here', () => {
  const examples = readdirSync(`${root}examples`).filter((f) => f.endsWith('.ts') && !f.endsWith('.test.ts'))
  expect(examples.sort()).toEqual(['custom-connector.ts', 'custom-function.ts', 'embed.ts', 'rest-walkthrough.ts'])
})
