/**
 * File source (spec/connectors.md 9.6). Lines are delivered as large blocks (framing `lines`), csv records as rows, everything
 * else as one payload a file; a large JSON array as several arrays.
 */
import { copyFile, mkdir, readdir, readFile, rename, stat, unlink } from 'node:fs/promises'
import { basename, extname, isAbsolute, join } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { IxionError, messageOf, RowError } from '../../core/errors.ts'
import { getField, isObject, setField, type Value, type ValueObject } from '../../core/values.ts'
import { pause, untilAborted } from '../../core/waiting.ts'
import type { Chunk, ConnectorContext, Deliver, Source } from '../contract.ts'
import { flag, number, text, textList } from '../properties.ts'
import { csvReader } from './csv.ts'
import { directoryWatcher } from './directory-watcher.ts'
import { arrayPieces } from './json-array.ts'
import { isCompressed, lineBlocks, readBuffers, readChunks } from './reading.ts'

/** A JSON array file beyond this is delivered in pieces of about this size. */
const WHOLE_ARRAY = 4 * 1024 * 1024
const CSV_ROWS = 1000

interface FileInfo {
  readonly path: string
  readonly mtime: number
  readonly size: number
}

/** What one call of `read` works with. */
interface Reading {
  readonly deliver: Deliver
  readonly signal: AbortSignal
}

export function createFileSource(datasource: string, properties: ValueObject, context: ConnectorContext): Source {
  const { clock, log } = context
  const settings = readSettings(datasource, properties, context)
  let isDirectory = false
  /** Modification time up to which files of the directory have been read, and what was read at or behind it. */
  let lastModified = 0
  const seen = new Map<string, FileInfo>()
  let scanned = false
  /** The file being read and the position behind the last delivered block, for a rewind into its middle. */
  let current: { file: string; position: number } | null = null
  let resume: { file: string; position: number } | null = null

  const fail = (message: string, error: unknown): void => {
    const code = error instanceof IxionError ? error.code : error instanceof RowError ? error.code : 'STORAGE'
    const reason = new IxionError(code, `${message}: ${messageOf(error)}`, { cause: error })
    log.error(reason.message, { owner: context.owner })
    context.lost?.(1, reason)
  }

  const readOne = async (file: FileInfo, reading: Reading): Promise<void> => {
    if (file.size === 0) {
      log.warn(`the file ${file.path} is empty and skipped`, { owner: context.owner })
      return
    }
    const from = resume?.file === file.path && resume.position <= file.size ? resume.position : 0
    resume = null
    current = { file: file.path, position: from }
    const after = afterAcceptance(() => doAfterRead(file))
    const hand = async (chunk: Chunk, end?: number, free?: () => void): Promise<void> => {
      const accepted = after.track()
      const settled =
        accepted && free
          ? (error: Error | null) => {
              free()
              accepted(error)
            }
          : (accepted ?? free)
      // Before the delivery: whoever takes the chunk may ask for the offset behind it at once.
      if (current && end !== undefined) current.position = end
      const room = reading.deliver(settled ? { ...chunk, settled } : chunk)
      if (room) await untilAborted(room, reading.signal)
    }
    try {
      if (settings.fileType === 'lines') await readLines(file, from, reading, hand)
      else if (settings.fileType === 'csv') await readCsv(file, reading, hand)
      else await readWhole(file, reading, hand)
      if (!reading.signal.aborted) after.complete()
    } catch (error) {
      fail(`reading ${file.path} failed`, error)
    }
    if (!reading.signal.aborted) current = null
  }

  /** Without an action nobody needs to wait for acceptance. */
  const afterAcceptance = (
    done: () => void,
  ): { track(): ((error: Error | null) => void) | undefined; complete(): void } => {
    let open = 1
    let refused = false
    const settle = (error: Error | null): void => {
      refused ||= error !== null
      if (--open === 0 && !refused) done()
    }
    return {
      track() {
        if (settings.actionAfterRead === 0) return undefined
        open++
        return settle
      },
      complete: () => settle(null),
    }
  }

  const doAfterRead = (file: FileInfo): void => {
    const act = async (): Promise<void> => {
      if (settings.actionAfterRead === 1) await unlink(file.path)
      else if (settings.actionAfterRead === 2) await moveFile(file.path, settings.moveTo, clock.now())
    }
    act().catch((error) => log.error(`after reading ${file.path}: ${messageOf(error)}`, { owner: context.owner }))
  }

  const metaOf = (file: FileInfo): readonly ValueObject[] => [{ file: file.path }]

  const blocksOf = (file: FileInfo, from: number, signal: AbortSignal, buffers = readBuffers()) =>
    lineBlocks(readChunks(file.path, from, signal, buffers), from, {
      buffered: !isCompressed(file.path),
      skipStart: settings.ignoreStartLines,
      skipEnd: settings.ignoreEndLines,
      maxLine: settings.maxLineSize,
      tooLong: (bytes) => {
        const error = new IxionError(
          'LIMIT',
          `a line of ${bytes} bytes in ${file.path} is beyond maxLineSize and was skipped`,
        )
        log.error(error.message, { owner: context.owner })
        context.lost?.(1, error)
      },
    })

  const readLines = async (
    file: FileInfo,
    from: number,
    { signal }: Reading,
    hand: (chunk: Chunk, end?: number, free?: () => void) => Promise<void>,
  ): Promise<void> => {
    const meta = metaOf(file)
    const buffers = readBuffers()
    for await (const block of blocksOf(file, from, signal, buffers)) {
      if (settings.sendInterval > 0) {
        for (const line of splitLines(block.bytes)) {
          await hand({ kind: 'bytes', payloads: [line], meta, timestamp: clock.now() })
          await pause(clock, settings.sendInterval, signal)
          if (signal.aborted) return
        }
        if (current) current.position = block.end
      } else {
        const { buffer } = block
        await hand(
          { kind: 'bytes', payloads: [block.bytes], meta, timestamp: clock.now(), framing: 'lines' },
          block.end,
          buffer && settings.decodesToValues ? () => buffers.give(buffer) : undefined,
        )
      }
      if (signal.aborted) return
    }
  }

  const readCsv = async (file: FileInfo, { signal }: Reading, hand: (chunk: Chunk) => Promise<void>): Promise<void> => {
    const reader = csvReader(settings.delimiter, settings.maxLineSize)
    const decoder = new StringDecoder('utf8')
    const meta = metaOf(file)
    let names = settings.hasHeader ? undefined : settings.columns
    let headerSeen = !settings.hasHeader
    const send = async (): Promise<void> => {
      let records = reader.take()
      if (!headerSeen && records.length > 0) {
        names = records[0]
        headerSeen = true
        records = records.slice(1)
      }
      const size = settings.sendInterval > 0 ? 1 : CSV_ROWS
      for (let i = 0; i < records.length && !signal.aborted; i += size) {
        const rows = records.slice(i, i + size).map((record) => rowOf(record, names))
        await hand({ kind: 'rows', rows, meta, timestamp: clock.now() })
        if (settings.sendInterval > 0) await pause(clock, settings.sendInterval, signal)
      }
    }
    try {
      for await (const block of blocksOf(file, 0, signal)) {
        reader.push(decoder.write(block.bytes))
        await send()
        if (signal.aborted) return
      }
      reader.push(decoder.end())
      reader.end()
    } finally {
      // The good records before a bad one.
      await send()
    }
    if (!headerSeen && !signal.aborted) throw new IxionError('DECODE', 'header not found')
  }

  const readWhole = async (
    file: FileInfo,
    { signal }: Reading,
    hand: (chunk: Chunk) => Promise<void>,
  ): Promise<void> => {
    const meta = metaOf(file)
    const give = (payload: Buffer): Promise<void> =>
      hand({ kind: 'bytes', payloads: [payload], meta, timestamp: clock.now() })
    const unpack = settings.decompression === '' && isCompressed(file.path)
    if (settings.format === 'json' && settings.decompression === '' && (unpack || file.size > WHOLE_ARRAY)) {
      for await (const piece of arrayPieces(readChunks(file.path, 0, signal), WHOLE_ARRAY, settings.maxFileSize)) {
        await give(piece)
        if (signal.aborted) return
        if (settings.sendInterval > 0) await pause(clock, settings.sendInterval, signal)
      }
      return
    }
    let length = 0
    const parts: Buffer[] = []
    const chunks = unpack ? readChunks(file.path, 0, signal) : wholeFile(file, settings.maxFileSize)
    for await (const chunk of chunks) {
      length += chunk.length
      if (length > settings.maxFileSize) throw tooBig(file, settings.maxFileSize)
      parts.push(chunk)
    }
    const content = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
    const start = content[0] === 0xef && content[1] === 0xbb && content[2] === 0xbf ? 3 : 0
    if (!signal.aborted && content.length > start) await give(content.subarray(start))
  }

  const listNew = async (): Promise<FileInfo[]> => {
    const names = await readdir(settings.path, { withFileTypes: true })
    const files: FileInfo[] = []
    const present = new Set<string>()
    for (const entry of names) {
      if (!entry.isFile() && !entry.isSymbolicLink()) continue
      const path = join(settings.path, entry.name)
      const info = await stat(path).catch(() => null)
      if (!info?.isFile()) continue
      present.add(path)
      const file = { path, mtime: info.mtimeMs, size: info.size }
      const before = seen.get(path)
      // At the first look only what is newer than the restored offset; later every file not met before, whatever its time
      // (it may have been moved here).
      if (before ? before.mtime !== file.mtime || before.size !== file.size : scanned || file.mtime > lastModified) {
        files.push(file)
      } else {
        seen.set(path, file)
      }
    }
    scanned = true
    for (const path of seen.keys()) if (!present.has(path)) seen.delete(path)
    return files.sort((a, b) => a.mtime - b.mtime || (a.path < b.path ? -1 : 1))
  }

  const readAll = async (files: readonly FileInfo[], reading: Reading): Promise<void> => {
    for (const file of files) {
      await readOne(file, reading)
      if (reading.signal.aborted) return
      seen.set(file.path, file)
      lastModified = Math.max(lastModified, file.mtime)
    }
  }

  const readSingle = async (reading: Reading): Promise<void> => {
    const info = await stat(settings.path)
    await readOne({ path: settings.path, mtime: info.mtimeMs, size: info.size }, reading)
    if (!reading.signal.aborted) lastModified = info.mtimeMs
  }

  const watch = async (reading: Reading): Promise<void> => {
    const watcher = directoryWatcher(settings.path, clock)
    try {
      let before: readonly FileInfo[] = []
      while (!reading.signal.aborted) {
        // A file is read when it looked the same twice: somebody may still be writing it.
        const found = await listNew()
        const stable = found.filter((file) =>
          before.some((old) => old.path === file.path && old.mtime === file.mtime && old.size === file.size),
        )
        await readAll(stable, reading)
        before = found
        if (found.length > stable.length) await pause(clock, 100, reading.signal)
        else await watcher.changed(reading.signal)
      }
    } finally {
      watcher.close()
    }
  }

  return {
    async connect() {
      const info = await stat(settings.path).catch(() => null)
      if (!info) throw new IxionError('NOT_FOUND', `file ${settings.path} not exist`, { path: 'datasource' })
      isDirectory = info.isDirectory()
      if (settings.actionAfterRead === 2) await checkMoveTo(settings.moveTo)
    },
    async read(deliver, signal) {
      const reading = { deliver, signal }
      for (;;) {
        try {
          if (isDirectory) await readAll(await listNew(), reading)
          else await readSingle(reading)
          if (isDirectory && settings.interval === 0 && !signal.aborted) await watch(reading)
        } catch (error) {
          if (settings.interval === 0) throw new IxionError('STORAGE', messageOf(error), { cause: error })
          fail(`reading ${settings.path} failed`, error)
        }
        if (settings.interval === 0 || signal.aborted) return 'ended'
        await pause(clock, settings.interval, signal)
        if (signal.aborted) return 'ended'
      }
    },
    async close() {},
    offset: () => ({
      lastModifyTime: lastModified,
      ...(current && { file: current.file, position: current.position }),
    }),
    async rewind(offset) {
      if (!isObject(offset)) return
      lastModified = toNumber(getField(offset, 'lastModifyTime')) ?? 0
      const file = getField(offset, 'file')
      const position = toNumber(getField(offset, 'position'))
      resume = typeof file === 'string' && position ? { file, position } : null
    },
  }
}

interface FileSettings {
  readonly path: string
  readonly fileType: string
  readonly format: string
  /** Rows of the format do not look into the payload's memory. */
  readonly decodesToValues: boolean
  readonly interval: number
  readonly sendInterval: number
  readonly actionAfterRead: number
  readonly moveTo: string
  readonly ignoreStartLines: number
  readonly ignoreEndLines: number
  readonly hasHeader: boolean
  readonly columns: string[] | undefined
  readonly delimiter: string
  readonly decompression: string
  readonly maxFileSize: number
  readonly maxLineSize: number
}

function readSettings(datasource: string, properties: ValueObject, context: ConnectorContext): FileSettings {
  const wrong = (path: string, message: string): IxionError => new IxionError('INVALID_PROPERTY', message, { path })
  const path = text(properties, 'path')
  if (!path) throw wrong('path', 'missing property Path')
  const fileType = text(properties, 'fileType') ?? 'json'
  const decompression = text(properties, 'decompression') ?? ''
  if (decompression !== '' && ['csv', 'lines', 'parquet'].includes(fileType)) {
    throw wrong('decompression', `decompression is not supported for ${fileType} file type`)
  }
  if (fileType === 'parquet') {
    throw new IxionError('NOT_SUPPORTED', 'file type parquet is not supported', { path: 'fileType' })
  }
  const actionAfterRead = number(properties, 'actionAfterRead') ?? 0
  if (![0, 1, 2].includes(actionAfterRead))
    throw wrong('actionAfterRead', `invalid actionAfterRead: ${actionAfterRead}`)
  const moveTo = text(properties, 'moveTo') ?? ''
  if (actionAfterRead === 2 && moveTo === '') throw wrong('moveTo', 'missing moveTo when actionAfterRead is 2')
  return {
    path: join(directoryOf(path, context), datasource),
    fileType,
    format: (text(properties, 'format') || 'json').toLowerCase(),
    decodesToValues: ['json', 'delimited'].includes((text(properties, 'format') || 'json').toLowerCase()),
    interval: number(properties, 'interval') ?? 0,
    sendInterval: number(properties, 'sendInterval') ?? 0,
    actionAfterRead,
    moveTo: moveTo && directoryOf(moveTo, context),
    ignoreStartLines: Math.max(0, number(properties, 'ignoreStartLines') ?? 0),
    ignoreEndLines: Math.max(0, number(properties, 'ignoreEndLines') ?? 0),
    hasHeader: flag(properties, 'hasHeader'),
    columns: textList(properties, 'columns'),
    delimiter: (text(properties, 'delimiter') || ',').slice(0, 1),
    decompression,
    maxFileSize: number(properties, 'maxFileSize') ?? 256 * 1024 * 1024,
    maxLineSize: number(properties, 'maxLineSize') ?? 16 * 1024 * 1024,
  }
}

/** Absolute, or relative to the installation directory, whose `data` is the data directory. */
function directoryOf(path: string, context: ConnectorContext): string {
  if (isAbsolute(path)) return path
  if (path === 'data' || path.startsWith('data/')) return join(context.dataDir, path.slice(5))
  return join(context.etcDir, '..', path)
}

async function checkMoveTo(moveTo: string): Promise<void> {
  const info = await stat(moveTo).catch(() => null)
  if (!info) await mkdir(moveTo, { recursive: true })
  else if (!info.isDirectory()) {
    throw new IxionError('INVALID_PROPERTY', `moveTo ${moveTo} is not a directory`, { path: 'moveTo' })
  }
}

/** Never replaces a file that is already there. */
async function moveFile(file: string, directory: string, now: number): Promise<void> {
  let target = join(directory, basename(file))
  if (await stat(target).catch(() => null)) {
    const extension = extname(file)
    target = join(directory, `${basename(file, extension)}-${now}${extension}`)
  }
  try {
    await rename(file, target)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    await copyFile(file, target)
    await unlink(file)
  }
}

async function* wholeFile(file: FileInfo, maxBytes: number): AsyncGenerator<Buffer> {
  if (file.size > maxBytes) throw tooBig(file, maxBytes)
  yield await readFile(file.path)
}

function tooBig(file: FileInfo, maxBytes: number): IxionError {
  return new IxionError('LIMIT', `the file ${file.path} is longer than ${maxBytes} bytes`, {
    hint: 'Raise maxFileSize, or use fileType lines.',
  })
}

function* splitLines(bytes: Buffer): Generator<Buffer> {
  let at = 0
  while (at < bytes.length) {
    const feed = bytes.indexOf(10, at)
    const end = feed < 0 ? bytes.length : feed
    if (end > at) yield bytes.subarray(at, end)
    at = end + 1
  }
}

/** Columns beyond the names are dropped, missing ones left out; without names `cols0`, `cols1` ... */
function rowOf(record: readonly string[], names: readonly string[] | undefined): ValueObject {
  const row: ValueObject = {}
  record.forEach((value, i) => {
    const name = names ? names[i] : `cols${i}`
    if (name !== undefined) setField(row, name, value)
  })
  return row
}

function toNumber(value: Value | undefined): number | undefined {
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined
}
