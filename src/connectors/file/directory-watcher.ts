/** Tells when something changed in a directory: the system's notices, and a look every few seconds where there are none. */
import { type FSWatcher, watch } from 'node:fs'
import type { Clock } from '../../core/clock.ts'

/** Network file systems give no notices. */
const LOOK_ANYWAY = 10_000

export interface DirectoryWatcher {
  /** Resolves at the next change (or one since the last call), after `LOOK_ANYWAY` ms, or on abort. */
  changed(signal: AbortSignal): Promise<void>
  close(): void
}

export function directoryWatcher(path: string, clock: Clock): DirectoryWatcher {
  let dirty = false
  let wake: (() => void) | undefined
  let watcher: FSWatcher | undefined
  try {
    watcher = watch(path, () => {
      dirty = true
      wake?.()
    })
    watcher.on('error', () => {})
  } catch {
    // Looking every few seconds has to do.
  }
  return {
    changed(signal) {
      if (dirty || signal.aborted) {
        dirty = false
        return Promise.resolve()
      }
      return new Promise((resolve) => {
        const done = (): void => {
          timer.cancel()
          signal.removeEventListener('abort', done)
          wake = undefined
          dirty = false
          resolve()
        }
        const timer = clock.after(LOOK_ANYWAY, done)
        signal.addEventListener('abort', done, { once: true })
        wake = done
      })
    },
    close: () => watcher?.close(),
  }
}
