// Bundles the daemon, the CLI and the library into dist/, and writes the library's type declarations.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const stampFile = 'dist/.stamp'
const hash = createHash('sha256')
function add(path) {
  for (const entry of readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const full = join(path, entry.name)
    if (entry.isDirectory()) add(full)
    else if (/\.(ts|json)$/.test(entry.name) && !entry.name.endsWith('.test.ts'))
      hash.update(full).update(readFileSync(full))
  }
}
add('src')
for (const file of ['package.json', 'package-lock.json', 'scripts/build.mjs']) hash.update(readFileSync(file))
const stamp = hash.digest('hex')
if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) process.exit(0)

console.error('building ...')
const { build } = await import('esbuild')
rmSync('dist', { recursive: true, force: true })
mkdirSync('dist', { recursive: true })
await build({
  entryPoints: {
    ixion: 'src/bin/ixion.ts',
    kuiperd: 'src/bin/kuiperd.ts',
    kuiper: 'src/bin/kuiper.ts',
    engine: 'src/engine/index.ts',
    sample: 'src/bin/sample.ts',
  },
  outdir: 'dist',
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
  sourcemap: 'linked',
  minifySyntax: true,
  legalComments: 'none',
}).catch(() => process.exit(1)) // esbuild has printed why
for (const bin of ['ixion', 'kuiperd', 'kuiper']) chmodSync(`dist/${bin}.mjs`, 0o755)
const types = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
  stdio: 'inherit',
})
if (types.status !== 0) process.exit(types.status ?? 1)
writeFileSync(stampFile, stamp)
