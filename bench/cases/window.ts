/** Tumbling windows per device, and how flat their cost is over events and groups. */
import type { Bench } from '../contract.ts'
import { flatOver, flatOverEvents, type WindowJob, warmMeasure } from './windows.ts'

const sql = (seconds: number): string =>
  `SELECT id, count(*) AS n, avg(temp) AS average, max(temp) AS most FROM s GROUP BY id, TUMBLINGWINDOW(ss, ${seconds})`

export const window: Bench = {
  name: 'window',
  docs: '10 s tumbling windows of 10,000 devices, count/avg/max, in processing and event time; flatness over events and groups',
  async measures(settings) {
    const events = settings.events(1_000_000)
    /** Windows of `seconds`, each device ten times in each. */
    const job = (devices: number, seconds: number, processingTime: boolean): WindowJob => {
      const perWindow = devices * 10
      const whole = (n: number): number => Math.ceil(n / perWindow) * perWindow
      return {
        sql: sql(seconds),
        processingTime,
        devices,
        step: (seconds * 1000) / perWindow,
        warmUp: whole(4_000_000),
        events: Math.max(whole(events), 3 * perWindow),
        // The last event's window ends in processing time only.
        results: (n) => n / 10 + (processingTime ? 1 : 0),
      }
    }
    const sizes = [100, 1000, 10_000, 100_000]
    return [true, false].flatMap((processingTime) => {
      const time = processingTime ? 'processing time' : 'event time'
      const budgets = processingTime ? [{ figure: 'eventsPerCpuSecond', atLeast: 6_000_000 }] : []
      return [
        warmMeasure(settings, `10,000 devices, ${time}`, job(10_000, 10, processingTime), budgets),
        // What runs once a window is compiled after some 600 of them.
        flatOverEvents(settings, `1,000 devices, ${time}`, { ...job(1000, 1, processingTime), warmUp: 7_000_000 }),
        flatOver(settings, `10 s, ${time}`, 'groups', sizes, (n) => job(n, 10, processingTime)),
        flatOver(
          settings,
          `10 s, ${time}, another order in each round`,
          'groups',
          sizes,
          (n) => ({ ...job(n, 10, processingTime), shuffled: true }),
          [],
        ),
      ]
    })
  },
}
