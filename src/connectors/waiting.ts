/** Small promise tools every connector needs: waiting for a signal, a promise or a time, whichever comes first. */
import type { Clock } from '../core/clock.ts'
import { IxionError } from '../core/errors.ts'

/** Resolves when `signal` aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** The promise's outcome, or undefined as soon as `signal` aborts. Leaves no listener behind. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) {
    promise.catch(() => {})
    return Promise.resolve(undefined)
  }
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve(undefined)
    signal.addEventListener('abort', stop, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

/** Waits `ms`, or less when `signal` aborts. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      timer.cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.after(ms, done)
    signal.addEventListener('abort', done, { once: true })
  })
}

/** The promise's outcome, or IxionError('TIMEOUT', message) after `ms`. */
export function within<T>(clock: Clock, ms: number, promise: Promise<T>, message: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ms, () => reject(new IxionError('TIMEOUT', message)))
    promise.then(resolve, reject).finally(() => timer.cancel())
  })
}
