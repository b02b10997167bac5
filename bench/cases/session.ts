/** Sessions that end by their longest duration, and by a pause; flatness over events and over groups. */
import type { Bench } from '../contract.ts'
import { flatOver, flatOverEvents } from './windows.ts'

export const session: Bench = {
  name: 'session',
  docs: 'session windows, count/avg: 100 events each, all devices together; and of 100 to 100,000 devices, ten events each',
  async measures(settings) {
    const events = settings.events(1_000_000)
    return [
      flatOverEvents(settings, '100 events a session', {
        sql: 'SELECT count(*) AS n, avg(temp) AS average FROM s GROUP BY SESSIONWINDOW(ss, 60, 1)',
        devices: 1000,
        step: 10,
        pause: { every: 100, ms: 2000 },
        warmUp: 4_000_000,
        events,
        results: (n) => n / 100,
      }),
      flatOver(settings, '10 events a device and session', 'groups', [100, 1000, 10_000, 100_000], (devices) => {
        const perSession = devices * 10
        const whole = (n: number): number => Math.ceil(n / perSession) * perSession
        return {
          sql: 'SELECT id, count(*) AS n, avg(temp) AS average FROM s GROUP BY id, SESSIONWINDOW(ss, 3600, 1)',
          devices,
          step: 0.1,
          pause: { every: perSession, ms: 2000 },
          warmUp: whole(4_000_000),
          events: whole(events),
          results: (n) => n / 10,
        }
      }),
    ]
  },
}
