/** One line per event to the standard error output and, when asked for, a rotated file. */
import { createWriteStream, mkdirSync, renameSync, statSync, type WriteStream } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from '../connectors/contract.ts'

const levels = { debug: 0, info: 1, warn: 2, error: 3, fatal: 4, panic: 4 } as const
type Level = 'debug' | 'info' | 'warn' | 'error'

export interface DaemonLog extends Logger {
  setLevel(level: string): void
  setConsole(on: boolean): void
  setFile(on: boolean): void
}

export interface LogSettings {
  readonly level: string
  readonly console: boolean
  readonly file: boolean
  readonly format: 'text' | 'json'
  readonly folder: string
  /** bytes */
  readonly rotateSize: number
  readonly rotateCount: number
}

/** Bytes of log lines that may wait for a slow disk before further lines are left out. */
const MAX_WAITING = 1024 * 1024

export function createLog(settings: LogSettings): DaemonLog {
  let least = levelOf(settings.level) ?? levels.info
  let toConsole = settings.console
  let file: LogFile | null = null
  const setFile = (on: boolean): void => {
    if (on) file ??= logFile(settings)
    else {
      file?.close()
      file = null
    }
  }
  setFile(settings.file)
  const write = (level: Level, message: string, fields?: Record<string, unknown>): void => {
    if (levels[level] < least) return
    const line = settings.format === 'json' ? jsonLine(level, message, fields) : textLine(level, message, fields)
    if (toConsole && process.stderr.writableLength < MAX_WAITING) process.stderr.write(line)
    file?.write(line)
  }
  return {
    debug: (message, fields) => write('debug', message, fields),
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields) => write('error', message, fields),
    setLevel(level) {
      least = levelOf(level) ?? least
    },
    setConsole(on) {
      toConsole = on
    },
    setFile,
  }
}

function levelOf(name: string): number | undefined {
  return Object.hasOwn(levels, name) ? levels[name as Level] : undefined
}

function jsonLine(level: Level, message: string, fields: Record<string, unknown> = {}): string {
  return `${safeJson({ time: new Date().toISOString(), level, message, ...fields })}\n`
}

function textLine(level: Level, message: string, fields: Record<string, unknown> = {}): string {
  let line = `${new Date().toISOString()} ${level.toUpperCase().padEnd(5)} ${message.replaceAll('\n', '\\n')}`
  for (const [key, value] of Object.entries(fields)) {
    line += ` ${key}=${typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : safeJson(value)}`
  }
  return `${line}\n`
}

function safeJson(value: unknown): string {
  try {
    return JSON.stringify(value, (_key, v: unknown) => (typeof v === 'bigint' ? String(v) : v)) ?? 'null'
  } catch {
    return '"unprintable"'
  }
}

interface LogFile {
  write(line: string): void
  close(): void
}

/** A disk that is full loses log lines, never the process. */
function logFile(settings: LogSettings): LogFile {
  const path = join(settings.folder, 'stream.log')
  let stream: WriteStream | null = null
  let size = 0
  const open = (): void => {
    mkdirSync(settings.folder, { recursive: true })
    try {
      size = statSync(path).size
    } catch {
      size = 0
    }
    stream = createWriteStream(path, { flags: 'a' })
    stream.on('error', () => {
      stream = null
    })
  }
  const rotate = (): void => {
    stream?.end()
    for (let i = settings.rotateCount - 1; i >= 1; i--) tryRename(`${path}.${i}`, `${path}.${i + 1}`)
    tryRename(path, `${path}.1`)
    open()
  }
  open()
  return {
    write(line) {
      if (!stream) return
      if (stream.writableLength > MAX_WAITING) return
      size += line.length
      stream.write(line)
      if (size >= settings.rotateSize) rotate()
    },
    close() {
      stream?.end()
      stream = null
    },
  }
}

function tryRename(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch {
    // The older file is not there.
  }
}
