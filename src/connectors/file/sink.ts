/**
 * File sink (spec/connectors.md 10.5): results into files of lines, one JSON array, or csv, with rolling. Writes are gathered
 * and go to the disk when enough are there, after `flushInterval`, at a roll, and at the end.
 */
import { basename, dirname, extname, isAbsolute, join } from 'node:path'
import type { Timer } from '../../core/clock.ts'
import { IxionError, messageOf } from '../../core/errors.ts'
import type { ValueObject } from '../../core/values.ts'
import type { ConnectorContext, Sink, SinkItem } from '../contract.ts'
import { flag, number, text, textList } from '../properties.ts'
import { sendInSlices } from '../slices.ts'
import { type FileWriter, fileWriter, type Layers } from './writer.ts'

interface OpenFile {
  readonly writer: FileWriter
  readonly openedAt: number
  count: number
  size: number
  lastUse: number
  /** Messages that may still be lost: appended, not yet handed to the operating system. */
  unwritten: number
  /** The last write failed: nothing more is taken until one works. */
  failed: boolean
}

export function createFileSink(properties: ValueObject, context: ConnectorContext): Sink {
  const { clock, log } = context
  const settings = readSettings(properties, context)
  const files = new Map<string, OpenFile>()
  /** The csv header, found once and used for every file. */
  let header: string | undefined = settings.fields?.join(settings.delimiter)
  let uses = 0
  let lastStamp = 0
  let checkTimer: Timer | undefined
  let flushTimer: Timer | undefined
  /** Everything that touches files happens one after the other. */
  let work: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(run: () => Promise<T>): Promise<T> => {
    const result = work.then(run, run)
    work = result.catch(() => {})
    return result
  }

  const openFile = async (path: string): Promise<OpenFile> => {
    if (files.size >= settings.maxOpenFiles) await makeRoom()
    const writer = await fileWriter(nameOf(path), settings.layers)
    const file = { writer, openedAt: clock.now(), count: 0, size: 0, lastUse: uses++, unwritten: 0, failed: false }
    files.set(path, file)
    if (settings.fileType === 'json') append(file, openBracket)
    return file
  }

  const nameOf = (path: string): string => {
    if (settings.pattern === '' || settings.pattern === 'none') return path
    // Two files may be started in one millisecond.
    lastStamp = Math.max(lastStamp + 1, clock.now())
    if (settings.pattern === 'prefix') return join(dirname(path), `${lastStamp}-${basename(path)}`)
    const extension = extname(path)
    return `${path.slice(0, path.length - extension.length)}-${lastStamp}${extension}`
  }

  /** A file that is closed early is only complete under a name of its own. */
  const makeRoom = async (): Promise<void> => {
    const oldest = [...files].reduce((a, b) => (b[1].lastUse < a[1].lastUse ? b : a))
    if (settings.pattern !== 'prefix' && settings.pattern !== 'suffix') {
      throw new IxionError('LIMIT', `the file sink has ${files.size} files open already`, {
        path: 'maxOpenFiles',
        hint: 'Use fewer different paths, raise maxOpenFiles, or set rollingNamePattern.',
      })
    }
    await roll(oldest[0], oldest[1])
  }

  const append = (file: OpenFile, bytes: Uint8Array): void => {
    file.writer.append(bytes)
    file.size += bytes.length
  }

  const roll = async (path: string, file: OpenFile): Promise<void> => {
    if (file.failed) await flushFile(file)
    files.delete(path)
    if (settings.fileType === 'json') append(file, closeBracket)
    await file.writer.close()
    log.debug(`file ${file.writer.name} is complete`, { rows: file.count })
  }

  const add = (file: OpenFile, payload: Uint8Array, messages: number): void => {
    if (settings.fileType === 'csv' && settings.hasHeader) {
      const split = splitHeader(payload, header)
      header ??= split.header
      payload = split.rest
      if (file.count === 0 && header !== undefined) append(file, Buffer.from(`${header}\n`))
    }
    if (file.count > 0) append(file, settings.fileType === 'json' ? comma : lineFeed)
    append(file, payload)
    file.count += messages
    file.unwritten += messages
  }

  const flushFile = async (file: OpenFile): Promise<void> => {
    try {
      await file.writer.flush()
      file.unwritten = 0
      file.failed = false
    } catch (error) {
      file.failed = true
      throw error
    }
  }

  const full = (file: OpenFile): boolean =>
    (settings.rollingCount > 0 && file.count >= settings.rollingCount) ||
    (settings.rollingSize > 0 && file.size >= settings.rollingSize)

  /** One item; with many lines it is cut where a file is full. */
  const writeItem = async (item: SinkItem): Promise<void> => {
    const path = pathOf(item.dynamic['path'] ?? settings.path)
    let payload = item.payload ?? noBytes
    let messages = item.lines ? item.rows : 1
    // Lines are joined here, not ended.
    if (item.lines && payload.at(-1) === LF) payload = payload.subarray(0, -1)
    while (messages > 0) {
      const file = files.get(path) ?? (await openFile(path))
      // What an earlier call could not write comes first: until then nothing new is taken, so memory stays bounded.
      if (file.failed) await flushFile(file)
      file.lastUse = uses++
      const room = settings.rollingCount > 0 ? settings.rollingCount - file.count : messages
      const count = Math.min(messages, Math.max(1, room))
      const end = count < messages ? endOfLines(payload, count) : payload.length
      add(file, payload.subarray(0, end), count)
      payload = payload.subarray(Math.min(end + 1, payload.length))
      messages -= count
      try {
        if (full(file)) await roll(path, file)
        else if (settings.flushInterval === 0 || file.writer.waiting >= WRITE_SIZE) await flushFile(file)
      } catch (error) {
        // The message is in the file's buffer and will be written; the next one meets the error.
        file.failed = true
        log.error(storage(error, 0).message, { owner: context.owner })
      }
    }
  }

  const write = async (items: readonly SinkItem[]): Promise<void> => {
    let taken = 0
    try {
      for (const item of items) {
        await writeItem(item)
        taken++
      }
    } catch (error) {
      throw storage(error, taken)
    } finally {
      armFlush()
    }
  }

  const flushAll = async (): Promise<void> => {
    for (const file of files.values()) await flushFile(file)
  }

  const armFlush = (): void => {
    if (settings.flushInterval === 0 || flushTimer || files.size === 0) return
    flushTimer = clock.after(settings.flushInterval, () => {
      flushTimer = undefined
      inTurn(flushAll).catch((error) => {
        // The bytes are still there: the next send meets the same error and the runtime decides.
        log.error(`file sink: ${messageOf(error)}`, { owner: context.owner })
        armFlush()
      })
    })
  }

  const armCheck = (): void => {
    if (settings.checkInterval === null) return
    checkTimer = clock.after(settings.checkInterval, () => {
      inTurn(async () => {
        for (const [path, file] of [...files]) {
          if (clock.now() - file.openedAt >= settings.rollingInterval) await roll(path, file)
        }
      })
        .catch((error) => log.error(`file sink: rolling failed: ${messageOf(error)}`, { owner: context.owner }))
        .finally(() => {
          if (checkTimer) armCheck()
        })
    })
  }

  return {
    async connect() {
      if (!checkTimer) armCheck()
    },
    send: (item) => inTurn(() => write([item])),
    sendMany: (items) => inTurn(() => sendInSlices(items, 10_000, write)),
    flush: () =>
      inTurn(async () => {
        try {
          await flushAll()
        } catch (error) {
          throw storage(error, 0)
        }
      }),
    async close() {
      checkTimer?.cancel()
      checkTimer = undefined
      flushTimer?.cancel()
      flushTimer = undefined
      await inTurn(async () => {
        for (const [path, file] of [...files]) {
          try {
            await roll(path, file)
          } catch (error) {
            files.delete(path)
            const failure = storage(error, 0)
            log.error(`${failure.message}; ${file.unwritten} results are lost`, { owner: context.owner })
            if (file.unwritten > 0) context.lost?.(file.unwritten, failure)
            await file.writer.abandon()
          }
        }
      })
    },
  }
}

/** Written to the file when so many bytes are waiting. */
const WRITE_SIZE = 256 * 1024
const LF = 10
const noBytes = new Uint8Array(0)
const lineFeed = Buffer.from('\n')
const comma = Buffer.from(',')
const openBracket = Buffer.from('[')
const closeBracket = Buffer.from(']')

interface FileSettings {
  readonly path: string
  readonly fileType: 'lines' | 'json' | 'csv'
  readonly hasHeader: boolean
  readonly delimiter: string
  readonly fields: string[] | undefined
  readonly rollingInterval: number
  readonly rollingCount: number
  readonly rollingSize: number
  /** Null: age does not matter. With names of their own, files roll at each check also without rollingInterval. */
  readonly checkInterval: number | null
  readonly pattern: string
  readonly flushInterval: number
  readonly maxOpenFiles: number
  readonly layers: Layers
}

function readSettings(properties: ValueObject, context: ConnectorContext): FileSettings {
  const require = (good: boolean, path: string, message: string): void => {
    if (!good) throw new IxionError('INVALID_PROPERTY', message, { path })
  }
  const path = text(properties, 'path') ?? ''
  require(path !== '', 'path', 'path must be set')
  const fileType = text(properties, 'fileType') ?? 'lines'
  require(['json', 'csv', 'lines'].includes(fileType), 'fileType', 'fileType must be one of json, csv or lines')
  const format = text(properties, 'format') ?? 'json'
  require(fileType !== 'csv' || format === 'delimited', 'format', 'format must be delimited when fileType is csv')
  const pattern = text(properties, 'rollingNamePattern') ?? ''
  require(['', 'prefix', 'suffix', 'none'].includes(
    pattern,
  ), 'rollingNamePattern', 'rollingNamePattern must be one of prefix, suffix or none')
  const named = pattern === 'prefix' || pattern === 'suffix'
  const given = ['rollingInterval', 'rollingCount', 'rollingSize'].some((n) => number(properties, n) !== undefined)
  // Without a name of its own a new file replaces the one before, with all results in it: that is only done on request.
  const rollingInterval = number(properties, 'rollingInterval') ?? 0
  const rollingCount = number(properties, 'rollingCount') ?? (named ? 1_000_000 : 0)
  const rollingSize = number(properties, 'rollingSize') ?? 0
  const checkInterval = number(properties, 'checkInterval') ?? 300_000
  require(rollingInterval >= 0, 'rollingInterval', 'rollingInterval must be positive')
  require(rollingCount >= 0, 'rollingCount', 'rollingCount must be positive')
  require(checkInterval > 0, 'checkInterval', 'checkInterval must be positive')
  require(!given ||
    rollingInterval > 0 ||
    rollingCount > 0 ||
    rollingSize > 0, 'rollingInterval', 'one of rollingInterval, rollingCount, or rollingSize must be set')
  const hook = text(properties, 'rollingHook')
  require(!hook, 'rollingHook', `rolling hook ${hook} is not registered`)
  const compression = text(properties, 'compression') ?? ''
  require(['', 'gzip', 'zstd'].includes(compression), 'compression', 'compression must be one of gzip, zstd')
  const encryption = text(properties, 'encryption') ?? ''
  require(['', 'aes'].includes(encryption), 'encryption', `encryptor '${encryption}' is not supported`)
  require(encryption === '' || context.aesKey !== undefined, 'encryption', 'AES Key is not defined')
  return {
    path,
    fileType: fileType as FileSettings['fileType'],
    hasHeader: flag(properties, 'hasHeader'),
    delimiter: text(properties, 'delimiter') || ',',
    fields: textList(properties, 'fields'),
    rollingInterval,
    rollingCount,
    rollingSize,
    checkInterval: rollingInterval > 0 ? Math.min(checkInterval, rollingInterval) : named ? checkInterval : null,
    pattern,
    flushInterval: number(properties, 'flushInterval') ?? 1000,
    maxOpenFiles: number(properties, 'maxOpenFiles') ?? 500,
    layers: {
      compression: compression as Layers['compression'],
      key: encryption === 'aes' ? context.aesKey : undefined,
      zstdFrame: context.zstdFrame,
    },
  }
}

/** Relative paths start at the working directory, as in the reference. */
function pathOf(path: string): string {
  if (path === '' || path.includes('\0'))
    throw new IxionError('REFUSED', 'the path of the file sink is empty', { path: 'path' })
  return isAbsolute(path) ? path : join(process.cwd(), path)
}

/** Where the `count`-th line ends: the position of its line feed. */
function endOfLines(payload: Uint8Array, count: number): number {
  let at = -1
  for (let i = 0; i < count; i++) {
    const feed = payload.indexOf(LF, at + 1)
    if (feed < 0) return payload.length
    at = feed
  }
  return at
}

/**
 * The pipeline puts the header line in front of each csv payload; here it goes to the top of the file only. `known` is the
 * header of earlier payloads.
 */
function splitHeader(payload: Uint8Array, known: string | undefined): { header: string | undefined; rest: Uint8Array } {
  const feed = payload.indexOf(LF)
  if (feed < 0) return { header: known, rest: payload }
  const first = Buffer.from(payload.buffer, payload.byteOffset, feed).toString().replace(/\r$/, '')
  if (known !== undefined && first !== known) return { header: known, rest: payload }
  return { header: first, rest: payload.subarray(feed + 1) }
}

/** A full disk and the like: retriable, with the place. */
function storage(error: unknown, taken: number): Error {
  if (error instanceof IxionError) return Object.assign(error, { taken })
  const code = (error as NodeJS.ErrnoException).code
  const hint =
    code === 'ENOSPC'
      ? 'The disk is full: free some space.'
      : code === 'EACCES' || code === 'EPERM'
        ? 'The process may not write there.'
        : undefined
  const failure = new IxionError('STORAGE', `file sink: ${messageOf(error)}`, { cause: error, ...(hint && { hint }) })
  return Object.assign(failure, { taken })
}
