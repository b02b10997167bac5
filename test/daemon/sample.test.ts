import { expect, it } from 'vitest'
import { type Sample, startSample } from '../../src/bin/sample.ts'
import { installation, startDaemon } from '../support/daemon.ts'

it('the sample of npm start prints results of its rule, also when it is there already', async () => {
  const folders = installation()
  const daemon = await startDaemon(folders)
  const lines: string[] = []
  let sample: Sample | undefined
  try {
    const result = new Promise<string>((resolve, reject) => {
      const print = (line: string): void => {
        lines.push(line)
        if (line.startsWith('alerts/hot ')) resolve(line)
      }
      startSample(print, 0).then(async (started) => {
        sample = started
        await sample.define(daemon.url)
        await sample.define(daemon.url)
      }, reject)
    })
    expect(await result).toMatch(/^alerts\/hot \{"device":"[a-z]+-\d","temp_f":[\d.]+,"vibration":[\d.]+\}$/)
    expect(lines).toContain(`  status     ${daemon.url}/rules/hot/status`)
    expect((await daemon.request('GET', '/rules/hot/ledger')).status).toBe(200)
  } finally {
    daemon.child.kill('SIGTERM')
    await daemon.exit
    await sample?.close()
    folders.remove()
  }
})
