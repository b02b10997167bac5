/**
 * Turns of those who push rows from outside: while one waits for room in a stream, the others wait in line behind it, so that
 * what is queued does not grow with their number.
 */
import type { Chunk } from '../connectors/contract.ts'
import type { Clock, Timer } from '../core/clock.ts'
import { IxionError } from '../core/errors.ts'
import type { StreamRunner } from '../runtime/stream-runner.ts'

/** How long a push may wait for its turn, ms. */
const TURN_LIMIT = 60_000
/** Pushes that wait at one time; more are refused at once. */
const MAX_WAITING = 1000

export class Turns {
  readonly #clock: Clock
  readonly #busy = new Map<StreamRunner, Promise<void>>()
  #waiting = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Hands the chunk to the runner; resolves when it is accepted. Throws TIMEOUT when its turn did not come, CONNECTION when
   * the runner stopped, and the reason of `signal` when that aborts before the turn.
   */
  async hand(runner: StreamRunner, chunk: Chunk, signal?: AbortSignal): Promise<void> {
    if (this.#busy.has(runner)) await this.#turn(runner, signal)
    let refused: Error | null = null
    const settled = (error: Error | null): void => {
      refused = error
    }
    const room = runner.accept({ ...chunk, settled })
    if (room) {
      const done = room.finally(() => this.#busy.delete(runner))
      this.#busy.set(runner, done)
      await done
    }
    if (refused) throw refused
  }

  async #turn(runner: StreamRunner, signal?: AbortSignal): Promise<void> {
    if (this.#waiting >= MAX_WAITING) throw noRoom('too many requests wait for room in it')
    this.#waiting++
    let timer: Timer | undefined
    let leave: () => void = () => {}
    try {
      const gone = new Promise<never>((_resolve, reject) => {
        timer = this.#clock.after(TURN_LIMIT, () => reject(noRoom('there was no room in it for a minute')))
        leave = () => reject(noRoom('the sender has gone'))
        signal?.addEventListener('abort', leave)
        if (signal?.aborted) leave()
      })
      for (let turn = this.#busy.get(runner); turn; turn = this.#busy.get(runner)) await Promise.race([turn, gone])
    } finally {
      this.#waiting--
      timer?.cancel()
      signal?.removeEventListener('abort', leave)
    }
  }
}

function noRoom(why: string): IxionError {
  return new IxionError('TIMEOUT', `the stream takes nothing at the moment: ${why}`, { hint: 'send it again later' })
}
