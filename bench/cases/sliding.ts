/** An average over the last second at each event: 1,000 rows inside, one result per event. */
import type { Bench } from '../contract.ts'
import { flatOverEvents, type WindowJob, warmMeasure } from './windows.ts'

export const sliding: Bench = {
  name: 'sliding',
  docs: 'average over 1,000 rows at each event (sliding window of 1 s, an event a millisecond); flatness over events',
  async measures(settings) {
    const job = (step: number, events: number): WindowJob => ({
      sql: 'SELECT avg(temp) AS average, count(*) AS n FROM s GROUP BY SLIDINGWINDOW(ss, 1)',
      devices: 1000,
      step,
      warmUp: 200_000,
      events: settings.events(events),
      results: (n) => n + 1,
    })
    return [
      warmMeasure(settings, '100 rows', job(10, 500_000), []),
      flatOverEvents(settings, '1,000 rows', job(1, 1_000_000)),
    ]
  },
}
