import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { freePort } from '../test/support/connectors.ts'
import { installation, startDaemon } from '../test/support/daemon.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const tsx = 'node_modules/tsx/dist/cli.mjs'

/** Runs an example as its first line says, and gives what it prints. */
function run(file: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [tsx, resolve(root, 'examples', file), ...args], {
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
  const folders = installation()
  const daemon = await startDaemon(folders, { KUIPER__SOURCE__HTTPSERVERPORT: String(await freePort()) })
  try {
    const printed = run('rest-walkthrough.ts', daemon.url)
    expect(printed).toContain('received 3, emitted 2, filtered 1\n')
    expect(printed).toContain('{"device":"a","temp_f":95}\n{"device":"c","temp_f":104}\n')
  } finally {
    daemon.child.kill('SIGTERM')
    await daemon.exit
    folders.remove()
  }
})

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
