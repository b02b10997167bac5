/** Memory of the daemon with REST up and nothing to do, five seconds after its first answer. */
import type { Bench } from '../contract.ts'
import { firstAnswer, startDaemon, stopDaemon } from '../daemon.ts'
import { anonymousMB, cpuSecondsOf, residentMB } from '../measure.ts'

export const idle: Bench = {
  name: 'idle',
  docs: 'anonymous and resident memory of the idle daemon after 5 s',
  async measures({ folder }) {
    return [
      {
        name: 'after 5 s',
        events: 0,
        budgets: [
          { figure: 'anonymousMB', atMost: 16 },
          { figure: 'residentMB', atMost: 56 },
        ],
        async run(bundle) {
          const daemon = await startDaemon(bundle, folder)
          try {
            await firstAnswer(daemon)
            await new Promise((resolve) => setTimeout(resolve, 5000))
            const pid = daemon.child.pid as number
            return { anonymousMB: anonymousMB(pid), residentMB: residentMB(pid), cpuSeconds: cpuSecondsOf(pid) }
          } finally {
            await stopDaemon(daemon)
          }
        },
      },
    ]
  },
}
