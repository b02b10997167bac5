/** Sessions of 50 to 150 events that end after a pause. */
import type { Bench } from '../contract.ts'
import { windowMeasure } from './windows.ts'

export const session: Bench = {
  name: 'session',
  docs: 'session windows (at most 10 s, pause 1 s), count/avg, all devices together',
  async measures(settings) {
    const sql = 'SELECT count(*) AS n, avg(temp) AS average FROM s GROUP BY SESSIONWINDOW(ss, 10, 1)'
    return [windowMeasure(settings, { name: '100 events a session', sql, events: settings.events(500_000), step: 100 })]
  },
}
