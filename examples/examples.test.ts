import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Runs an example as its first line says, and gives what it prints. */
function run(name: string): string {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['node_modules/tsx/dist/cli.mjs', `examples/${name}`],
    {
      cwd: root,
      encoding: 'utf8',
      timeout: 25_000,
    },
  )
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

test('every example is under 60 lines and tested here', () => {
  const examples = readdirSync(`${root}examples`).filter((f) => f.endsWith('.ts') && !f.endsWith('.test.ts'))
  expect(examples.sort()).toEqual(['custom-connector.ts', 'custom-function.ts', 'embed.ts'])
})
