/** Spawn to the first answer of the daemon, and of `node -e 0` to its end, in turn. */
import { spawn } from 'node:child_process'
import type { Bench } from '../contract.ts'
import { firstAnswer, startDaemon, stopDaemon } from '../daemon.ts'

export const boot: Bench = {
  name: 'boot',
  docs: 'spawn to the first /ping answer, as a ratio to `node -e 0`',
  async measures({ folder }) {
    return [
      {
        name: 'to the first answer',
        events: 0,
        budgets: [{ figure: 'ratioToBareNode', atMost: 1.8 }],
        async run(bundle) {
          const bareNodeMs = await bareNode()
          const daemon = await startDaemon(bundle, folder)
          try {
            const answerMs = await firstAnswer(daemon)
            return { ratioToBareNode: answerMs / bareNodeMs, answerMs, bareNodeMs }
          } finally {
            await stopDaemon(daemon)
          }
        },
      },
    ]
  },
}

function bareNode(): Promise<number> {
  const started = performance.now()
  const child = spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' })
  return new Promise((resolve) => child.on('exit', () => resolve(performance.now() - started)))
}
