/** The daemon of a bundle, with empty configuration and data folders. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type Bundle, Skipped } from './contract.ts'

export const REST_PORT = 9081

export interface Daemon {
  readonly child: ChildProcess
  /** When it was spawned (performance.now). */
  readonly spawned: number
}

/** `folder` is where its data lies. Ends with {@link stopDaemon}. */
export async function startDaemon(bundle: Bundle, folder: string): Promise<Daemon> {
  const file = join(bundle.folder, 'ixion.mjs')
  if (!existsSync(file)) throw new Skipped(`${file} is not built`)
  if (await ping()) throw new Error(`another program answers on port ${REST_PORT}`)
  const data = mkdtempSync(join(folder, 'data-'))
  const etc = join(data, 'etc')
  mkdirSync(etc)
  const spawned = performance.now()
  const child = spawn(process.execPath, [file, 'serve', '--etc', etc, '--data', data], {
    stdio: ['ignore', 'ignore', process.env['IXION_BENCH_LOG'] ? 'inherit' : 'ignore'],
  })
  return { child, spawned }
}

/** Resolves with the ms from spawn to the first answer to `GET /ping`. */
export async function firstAnswer({ child, spawned }: Daemon, limitMs = 20_000): Promise<number> {
  const deadline = performance.now() + limitMs
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`the daemon ended with code ${child.exitCode}`)
    if (await ping()) return performance.now() - spawned
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  throw new Error('the daemon does not answer')
}

/** A socket by hand: the first use of an HTTP client would cost more than the answer. */
function ping(): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(REST_PORT, '127.0.0.1')
    socket.on('connect', () => socket.write('GET /ping HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n'))
    socket.on('data', (chunk) => {
      resolve(chunk.toString('latin1').startsWith('HTTP/1.1 200'))
      socket.destroy()
    })
    socket.on('error', () => resolve(false))
    socket.on('close', () => resolve(false))
  })
}

export function stopDaemon({ child }: Daemon): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null) return resolve()
    child.on('exit', () => resolve())
    child.kill('SIGTERM')
  })
}
