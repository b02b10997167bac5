import type { Clock } from '../core/clock.ts'

/** How long a connector may take to let go when there is no time left, ms. */
export const LAST_MOMENTS = 400

/** Waits for `work`, for at most `limit` ms: true when it has settled in time. Its failure is thrown; a late one is not heard. */
export async function within(clock: Clock, limit: number, work: Promise<unknown>): Promise<boolean> {
  let expire: () => void = () => {}
  const expired = new Promise<false>((resolve) => {
    expire = () => resolve(false)
  })
  const timer = clock.after(limit, expire)
  try {
    return await Promise.race([work.then(() => true as const), expired])
  } finally {
    timer.cancel()
    work.catch(() => {})
  }
}
