/** An average over the last second at each event: 1,000 rows inside, one result per event. */
import type { Bench } from '../contract.ts'
import { windowMeasure } from './windows.ts'

export const sliding: Bench = {
  name: 'sliding',
  docs: 'average over 1,000 rows at each event (sliding window of 1 s, an event a millisecond)',
  async measures(settings) {
    const sql = 'SELECT avg(temp) AS average, count(*) AS n FROM s GROUP BY SLIDINGWINDOW(ss, 1)'
    const events = settings.events(100_000)
    return [
      windowMeasure(settings, { name: '1,000 rows', sql, events }),
      windowMeasure(settings, { name: '100 rows', sql, events, step: 10 }),
    ]
  },
}
