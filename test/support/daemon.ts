/** The daemon as a process of its own, built once per test process from the sources. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../..', import.meta.url))

let built: Promise<string> | undefined

/** Path of the bundled `ixion` program. It lies below node_modules so that packages resolve. */
export function ixionProgram(): Promise<string> {
  built ??= (async () => {
    const outdir = join(root, 'node_modules', '.cache', `ixion-test-${process.pid}`)
    mkdirSync(outdir, { recursive: true })
    process.once('exit', () => rmSync(outdir, { recursive: true, force: true }))
    await build({
      absWorkingDir: root,
      entryPoints: { ixion: 'src/bin/ixion.ts', kuiper: 'src/bin/kuiper.ts' },
      outdir,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      packages: 'external',
      logLevel: 'silent',
    })
    return join(outdir, 'ixion.mjs')
  })()
  return built
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Daemon {
  readonly url: string
  readonly child: ChildProcess
  readonly exit: Promise<Exit>
  /** Everything written so far. */
  stdout(): string
  stderr(): string
  request(method: string, path: string, body?: string): Promise<{ status: number; body: string }>
}

/** Folders of one installation, removed by `remove`. */
export function installation(): { readonly etc: string; readonly data: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'ixion-daemon-'))
  return {
    etc: join(folder, 'etc'),
    data: join(folder, 'data'),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  }
}

/** Starts the daemon on a free port; resolves when it says that it serves. */
export async function startDaemon(
  folders: { readonly etc: string; readonly data: string },
  environment: Record<string, string> = {},
): Promise<Daemon> {
  const program = await ixionProgram()
  const given = ['serve', '--etc', folders.etc, '--data', folders.data, '--port', '0']
  const child = spawn(process.execPath, [program, ...given], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  const exit = new Promise<Exit>((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString()
  })
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
      const match = /restful api on (http:\/\/[^\s]+?)\.\n/.exec(out)
      if (match) resolve(match[1] as string)
    })
    void exit.then(({ code }) => reject(new Error(`the daemon ended with ${code}: ${err}`)))
  })
  return {
    url,
    child,
    exit,
    stdout: () => out,
    stderr: () => err,
    async request(method, path, body) {
      const response = await fetch(url + path, { method, ...(body !== undefined && { body }) })
      return { status: response.status, body: await response.text() }
    },
  }
}

/** Runs a client command against the daemon. */
export async function runClient(
  daemon: Daemon,
  words: readonly string[],
  program: 'ixion' | 'kuiper' = 'ixion',
): Promise<{ readonly code: number | null; readonly stdout: string }> {
  const path = (await ixionProgram()).replace(/ixion\.mjs$/, `${program}.mjs`)
  if (!existsSync(path)) throw new Error(`${path} was not built`)
  const child = spawn(process.execPath, [path, ...words], {
    env: { ...process.env, IXION_SERVER: daemon.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let stdout = ''
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, stdout }
}
