// Types, format and lint, layers. Prints what fails; exit 1 if anything does.
import { spawnSync } from 'node:child_process'

const steps = [
  ['types', 'node_modules/typescript/bin/tsc', ['-p', '.', '--noEmit']],
  ['format and lint', 'node_modules/@biomejs/biome/bin/biome', ['check', '--error-on-warnings', '.']],
  ['layers', 'scripts/layers.mjs', []],
]
let failed = false
for (const [name, script, args] of steps) {
  const result = spawnSync(process.execPath, [script, ...args], { stdio: 'inherit' })
  if (result.status !== 0) {
    failed = true
    console.error(`check: ${name} failed`)
  }
}
process.exit(failed ? 1 : 0)
