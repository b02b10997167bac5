// Makes a fresh clone ready: installs packages when the lock file is newer than node_modules, builds the kernel
// (--kernel) or everything (--build) when sources changed. Plain Node.js, no packages, so that it can run first.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
process.chdir(root)
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 10)) {
  console.error(`Ixion needs Node.js 20.10 or later; this is ${process.version}`)
  process.exit(1)
}

/** npm keeps a copy of the lock it installed; when it lists the same packages there is nothing to do. */
function installed() {
  const copy = 'node_modules/.package-lock.json'
  if (!existsSync(copy)) return false
  return statSync(copy).mtimeMs >= statSync('package-lock.json').mtimeMs || sameLock(copy)
}
function sameLock(copy) {
  const want = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages
  const have = JSON.parse(readFileSync(copy, 'utf8')).packages
  return Object.entries(want).every(([name, p]) => name === '' || p.optional || have[name]?.version === p.version)
}

if (!installed()) {
  console.error('installing packages ...')
  run('npm', ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund'], process.platform === 'win32')
}
const wanted = process.argv.slice(2)
if (wanted.includes('--kernel') || wanted.includes('--build')) run(process.execPath, ['scripts/build-kernel.mjs'])
if (wanted.includes('--build')) run(process.execPath, ['scripts/build.mjs'])

/** A failing step has said why: leave with its code. */
function run(command, args, shell = false) {
  const { status } = spawnSync(command, args, { stdio: 'inherit', shell })
  if (status !== 0) process.exit(status ?? 1)
}
