// Makes a fresh clone ready: installs packages when the lock file is newer than node_modules, builds the kernel
// (--kernel) or everything (--build) when sources changed. Plain Node.js, no packages, so that it can run first.
import { execFileSync, spawnSync } from 'node:child_process'
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
  const npm = spawnSync('npm', ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund'], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (npm.status !== 0) process.exit(npm.status ?? 1)
}
if (process.argv.includes('--kernel') || process.argv.includes('--build')) {
  if (existsSync('scripts/build-kernel.mjs'))
    execFileSync(process.execPath, ['scripts/build-kernel.mjs'], { stdio: 'inherit' })
}
if (process.argv.includes('--build')) execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' })
