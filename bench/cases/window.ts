/** Tumbling windows per device, and how the cost per event grows with events and with groups. */
import type { Bench } from '../contract.ts'
import { windowMeasure } from './windows.ts'

const sql =
  'SELECT id, count(*) AS n, avg(temp) AS average, max(temp) AS most FROM s GROUP BY id, TUMBLINGWINDOW(ss, 10)'

export const window: Bench = {
  name: 'window',
  docs: '10 s tumbling windows per device, count/avg/max, in processing and event time; flatness over events and groups',
  async measures(settings) {
    // 10,000 events a second: 100,000 in a window.
    const step = 0.1
    const events = settings.events(500_000)
    const budgets = [{ figure: 'afterStartEventsPerCpuSecond', atLeast: 6_000_000 }]
    return [
      windowMeasure(settings, { name: '10,000 devices', sql, events, step, budgets, processingTime: true }),
      windowMeasure(settings, { name: '10,000 devices, event time', sql, events, step }),
      ...[10_000, 100_000, 1_000_000].map((n) =>
        windowMeasure(settings, { name: `flat over events: ${n}`, sql, events: n, step, processingTime: true }),
      ),
      // Ten events a group and window, so that each event brings the same share of results whatever the number of groups.
      ...[100, 1_000, 10_000, 100_000].map((devices) =>
        windowMeasure(settings, {
          name: `flat over groups: ${devices}`,
          sql,
          events: events * 4,
          step: 1_000 / devices,
          devices,
          processingTime: true,
        }),
      ),
    ]
  },
}
