// Types, format and lint, layers, freshness of generated pages, links of the docs, tidiness of the tree. Prints what fails;
// exit 1 if anything does.
import { spawn } from 'node:child_process'

const steps = [
  ['types', 'node_modules/typescript/bin/tsc', '-p', '.', '--noEmit'],
  ['format and lint', 'node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'],
  ['layers', 'scripts/layers.mjs'],
  ['generated pages', 'node_modules/tsx/dist/cli.mjs', 'scripts/docs.ts', '--check'],
  ['links', 'scripts/links.mjs'],
  ['tree', 'scripts/tree.mjs'],
]

const failed = (await Promise.all(steps.map(run))).filter(Boolean)
for (const name of failed) console.error(`check: ${name} failed`)
process.exit(failed.length ? 1 : 0)

/** The step's name when it failed. Its output is printed as a whole, when it ends. */
function run([name, script, ...args]) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    const chunks = []
    child.stdout.on('data', (chunk) => chunks.push(chunk))
    child.stderr.on('data', (chunk) => chunks.push(chunk))
    child.on('close', (code) => {
      process.stdout.write(Buffer.concat(chunks))
      resolve(code === 0 ? null : name)
    })
  })
}
