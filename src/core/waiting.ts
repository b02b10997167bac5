/** Waiting for a signal, a promise or a time, whichever comes first. */
import type { Clock } from './clock.ts'
import { IxionError } from './errors.ts'

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

/** Resolves after `ms` or as soon as `signal` aborts, whichever is first; never rejects. */
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

/** Waits for `work`, for at most `ms`: true when it has settled in time. Its failure is thrown; a late one is not heard. */
export async function settlesWithin(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  let expire: () => void = () => {}
  const expired = new Promise<false>((resolve) => {
    expire = () => resolve(false)
  })
  const timer = clock.after(ms, expire)
  try {
    return await Promise.race([work.then(() => true as const), expired])
  } finally {
    timer.cancel()
    work.catch(() => {})
  }
}
