// `npm start`: makes a fresh clone ready, runs the daemon, and shows a sample while the data folder holds nothing else.
// Arguments go to `ixion serve` (--port, --data, --host, --etc, --log); --no-sample leaves the sample out.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const ready = spawnSync(process.execPath, ['scripts/bootstrap.mjs', '--build'], { stdio: 'inherit' })
if (ready.status !== 0) process.exit(ready.status ?? 1)

const args = process.argv.slice(2).filter((arg) => arg !== '--no-sample')
const sample = process.argv.includes('--no-sample') ? null : await startSample()
// A group of its own: Ctrl-C reaches this script alone, which passes it on once (a second one ends the daemon at once).
const ownGroup = process.platform !== 'win32'
const daemon = spawn(process.execPath, ['dist/ixion.mjs', 'serve', ...args], {
  stdio: ['ignore', 'pipe', 'inherit'],
  detached: ownGroup,
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    if (ownGroup) daemon.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal)
  })
}
process.on('exit', () => daemon.kill('SIGKILL'))
daemon.on('exit', async (code) => {
  await sample?.close()
  process.exit(code ?? 1)
})

let seen = ''
daemon.stdout.on('data', (chunk) => {
  process.stdout.write(chunk)
  if (!sample || seen === null) return
  seen += chunk
  const address = /restful api on (https?:\/\/\S+?)\.?\s/.exec(seen)?.[1]
  if (!address) return
  seen = null
  sample.define(address.replace('//0.0.0.0', '//127.0.0.1')).catch((error) => console.error(error.message))
})

/** Broker and fleet, when the data folder is new or already holds the sample. */
async function startSample() {
  const at = args.findIndex((arg) => /^--?data(=|$)/.test(arg))
  const data = at < 0 ? 'data' : args[at].includes('=') ? args[at].replace(/^[^=]*=/, '') : (args[at + 1] ?? 'data')
  const marker = join(data, 'sample')
  if (existsSync(data) && readdirSync(data).length > 0 && !existsSync(marker)) return null
  try {
    const started = await (await import('../dist/sample.mjs')).startSample((line) => console.log(line))
    mkdirSync(data, { recursive: true })
    writeFileSync(marker, 'npm start runs its sample while this file exists.\n')
    return started
  } catch (error) {
    console.error(`no sample: ${error.message}`)
    return null
  }
}
