/** Memory of the daemon with REST up and nothing to do, five seconds after its first answer. */
import type { Bench } from '../contract.ts'
import { firstAnswer, startDaemon, stopProcess } from '../daemon.ts'
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
          const child = startDaemon(bundle, folder)
          try {
            await firstAnswer(child)
            await new Promise((resolve) => setTimeout(resolve, 5000))
            const pid = child.pid as number
            return { anonymousMB: anonymousMB(pid), residentMB: residentMB(pid), cpuSeconds: cpuSecondsOf(pid) }
          } finally {
            await stopProcess(child)
          }
        },
      },
    ]
  },
}
