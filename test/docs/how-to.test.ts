import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Whole files in a recipe: a heading that names a path, then one block of TypeScript that begins with a comment or import. */
function filesOf(page: string): [path: string, text: string][] {
  const text = readFileSync(join(root, 'docs/how-to', page), 'utf8')
  const pattern = /^## \d+\. (?!The line)[^\n]*`(src\/[^`]+\.ts)`\n+```ts\n((?:\/\*\*|import )[\s\S]*?)```/gm
  return [...text.matchAll(pattern)].map(([, path = '', code = '']) => [path, code])
}

test('whole files in the recipes compile against the contracts of today', () => {
  mkdirSync(join(root, 'build'), { recursive: true })
  const folder = mkdtempSync(join(root, 'build/how-to-'))
  try {
    const files = readdirSync(join(root, 'docs/how-to')).flatMap(filesOf)
    expect(files.map(([path]) => path)).toEqual(
      expect.arrayContaining(['src/connectors/udp/index.ts', 'src/formats/logfmt.ts', 'src/operators/sample.ts']),
    )
    for (const [path, code] of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), code)
    }
    // Relative imports are found in the recipe first, then in the source tree.
    const settings = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { rootDirs: [folder, root] },
      include: [folder],
      exclude: [],
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
    const tsc = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', folder, '--noEmit'], {
      cwd: root,
      encoding: 'utf8',
    })
    const ownErrors = tsc.stdout.split('\n').filter((line) => line.startsWith('build/'))
    expect(ownErrors).toEqual([])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
