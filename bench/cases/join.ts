/** Two streams joined by key in windows of a second, one pair a row: flatness over events, and over the rows of a window. */
import type { Bench } from '../contract.ts'
import { flatOver, flatOverEvents, type WindowJob } from './windows.ts'

export const join: Bench = {
  name: 'join',
  docs: 'two streams joined by key in windows of 1 s: 1,000 rows with 1,000 over events; 100 to 100,000 rows a side',
  async measures(settings) {
    const events = settings.events(1_000_000)
    const job = (rows: number): WindowJob => {
      const whole = (n: number): number => Math.ceil(n / (2 * rows)) * 2 * rows
      return {
        sql: 'SELECT l.id, l.temp, r.hum FROM l INNER JOIN r ON l.id = r.id GROUP BY TUMBLINGWINDOW(ss, 1)',
        streams: ['l', 'r'],
        devices: rows,
        step: 1000 / rows,
        warmUp: whole(400_000),
        events: whole(events),
        results: (n) => n / 2,
      }
    }
    return [
      flatOverEvents(settings, '1,000 x 1,000 rows', job(1000)),
      flatOver(settings, 'by key', 'rows a side', [100, 1000, 10_000], job),
      flatOver(settings, 'by key, large windows', 'rows a side', [10_000, 100_000], job, []),
    ]
  },
}
