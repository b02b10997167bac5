/**
 * Checkpoints of one rule with qos 1 or 2 (spec/sql.md 7): its state goes to the store every interval, and soon after input whose
 * sender waits for it to be durable. The newest few are kept; a write replaces the oldest in one step.
 */
import type { Logger } from '../connectors/contract.ts'
import type { Clock, Timer } from '../core/clock.ts'
import { IxionError, messageOf } from '../core/errors.ts'
import { decodeState, encodeState } from '../core/state.ts'
import type { Value } from '../core/values.ts'
import type { KeyValueStore } from '../stores/contract.ts'

export interface CheckpointerOptions {
  readonly rule: string
  readonly store: KeyValueStore
  readonly clock: Clock
  readonly log: Logger
  /** ms */
  readonly interval: number
  /** The rule's state now, or null while it cannot be taken (input waits in front of the rule). */
  readonly snapshot: () => Value | null
  /** True when a source can go back to a position of the state: a lost result would come again. */
  readonly replays: () => boolean
  /**
   * Waits until the results the rule has given so far have left its sinks; false when the rule stopped before. Input that would
   * be sent or read again is not given up before.
   */
  readonly delivered: () => Promise<boolean>
}

/** Checkpoints kept per rule. */
const KEPT = 3
/** Input waits this long for others to share its checkpoint, ms. */
const GATHER = 50
/** A checkpoint that took t ms is followed by the next one after at least this many times t. */
const PAUSE_FACTOR = 20
/** Pause before another attempt when a snapshot could not be taken or written, ms. */
const RETRY = 100

const prefixOf = (rule: string): string => `${rule}/`

export class Checkpointer {
  readonly #o: CheckpointerOptions
  #keys: string[] = []
  #timer: Timer | null = null
  #dueAt = 0
  #writing: Promise<void> | null = null
  #waiting: { readonly done: () => void; readonly failed: (error: Error) => void }[] = []
  #lastTook = 0
  #stopped = false
  #number = 0

  constructor(options: CheckpointerOptions) {
    this.#o = options
  }

  /** The newest checkpoint that can be read, or null. Call before {@link start}. */
  async latest(): Promise<Value> {
    const { store, rule, log } = this.#o
    const found: { key: string; text: string }[] = []
    for await (const [key, text] of store.entries(prefixOf(rule))) found.push({ key, text })
    this.#keys = found.map((f) => f.key)
    this.#number = Number(this.#keys.at(-1)?.slice(prefixOf(rule).length) ?? 0)
    for (const { key, text } of found.reverse()) {
      try {
        return decodeState(text)
      } catch (error) {
        log.error('a checkpoint cannot be read', { rule, checkpoint: key, error: messageOf(error) })
      }
    }
    return null
  }

  start(): void {
    this.#schedule(this.#o.interval)
  }

  #schedule(delay: number): void {
    if (this.#stopped) return
    const at = this.#o.clock.now() + delay
    if (this.#timer && this.#dueAt <= at) return
    this.#timer?.cancel()
    this.#dueAt = at
    this.#timer = this.#o.clock.at(at, () => {
      this.#timer = null
      void this.#write()
    })
  }

  #cancel(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  /** Resolves when a state that contains everything processed so far is durable; rejects when the rule stops before. */
  durable(): Promise<void> {
    if (this.#stopped) return Promise.reject(stopped(this.#o.rule))
    return new Promise((done, failed) => {
      this.#waiting.push({ done, failed })
      this.#schedule(Math.max(GATHER, this.#lastTook * PAUSE_FACTOR))
    })
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writeNow().finally(() => {
      this.#writing = null
      this.#schedule(this.#waiting.length ? Math.max(GATHER, this.#lastTook * PAUSE_FACTOR) : this.#o.interval)
    })
    return this.#writing
  }

  /** `last`: on stop, when sinks are drained afterwards. */
  async #writeNow(last = false): Promise<void> {
    const { rule, store, clock, log } = this.#o
    const started = clock.monotonic()
    const waiting = this.#waiting
    let took = 0
    try {
      const state = this.#o.snapshot()
      if (state === null) {
        this.#schedule(RETRY)
        return
      }
      this.#waiting = []
      const text = encodeState(state)
      took = clock.monotonic() - started
      if (!last && (waiting.length > 0 || this.#o.replays())) {
        if (!(await this.#o.delivered())) {
          this.#waiting = [...waiting, ...this.#waiting]
          return
        }
      }
      const key = `${prefixOf(rule)}${String(++this.#number).padStart(16, '0')}`
      const keys = [...this.#keys, key]
      const old = keys.splice(0, Math.max(0, keys.length - KEPT))
      await store.batch([[key, text], ...old.map((k) => [k, null] as const)])
      this.#keys = keys
      for (const w of waiting) w.done()
    } catch (error) {
      log.error('a checkpoint could not be written', { rule, error: messageOf(error) })
      // Still not durable: the next checkpoint answers them.
      if (this.#waiting !== waiting) this.#waiting = [...waiting, ...this.#waiting]
      this.#schedule(RETRY)
    }
    this.#lastTook = took
  }

  /** `final`: one more checkpoint first. Input that waits is refused, its sender will send it again. */
  async stop(final: boolean): Promise<void> {
    if (this.#stopped) return
    this.#cancel()
    await this.#writing
    if (final) await this.#writeNow(true)
    this.#stopped = true
    this.#cancel()
    for (const w of this.#waiting.splice(0)) w.failed(stopped(this.#o.rule))
  }
}

function stopped(rule: string): IxionError {
  return new IxionError('CONNECTION', `rule ${rule} stopped before its state was durable`)
}

/** Removes all checkpoints of a rule. */
export async function removeCheckpoints(store: KeyValueStore, rule: string): Promise<void> {
  const changes: [string, null][] = []
  for await (const [key] of store.entries(prefixOf(rule))) changes.push([key, null])
  if (changes.length) await store.batch(changes)
}
