import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { defaultSettings, loadSettings } from './settings.ts'

let etc: string
beforeEach(() => {
  etc = mkdtempSync(join(tmpdir(), 'ixion-settings-'))
})
afterEach(() => rmSync(etc, { recursive: true, force: true }))

const write = (text: string): void => writeFileSync(join(etc, 'kuiper.yaml'), text)
const shipped = readFileSync(fileURLToPath(new URL('../../etc/kuiper.yaml', import.meta.url)), 'utf8')

describe('settings', () => {
  it('are the defaults without a file, with the shipped one, and with an empty section', async () => {
    expect(await loadSettings(etc, {})).toBe(defaultSettings)
    write(shipped)
    expect(await loadSettings(etc, {})).toBe(defaultSettings)
    write('basic:\n')
    expect(await loadSettings(etc, {})).toEqual(defaultSettings)
  })

  it('of the shipped file, its comments opened, are the defaults', async () => {
    const open = shipped
      .split('\n')
      .filter((line) => /^# {0,3}( *)[a-zA-Z]+:( |$)/.test(line) && !line.includes('.pem') && !/KUIPER/.test(line))
      .map((line) => line.slice(2))
      .join('\n')
    write(open)
    const settings = await loadSettings(etc, {})
    expect(settings.basic).toEqual(defaultSettings.basic)
    expect(settings.source).toEqual(defaultSettings.source)
  })

  it('match keys without regard to case, and name those that nothing reads', async () => {
    write('BASIC:\n  RESTport: 1234\n  unheard: 1\nrule:\n  qoss: 1\nnowhere: 7\n')
    const { basic, unread } = await loadSettings(etc, {})
    expect(basic.restPort).toBe(1234)
    expect(unread).toEqual(['basic.unheard', 'rule.qoss', 'nowhere'])
  })

  it('come from the environment first, typed', async () => {
    write('basic:\n  restPort: 1\n  aesKey: ""\n')
    const { basic, rule } = await loadSettings(etc, {
      KUIPER__BASIC__RESTPORT: '9082',
      KUIPER__BASIC__DEBUG: 't',
      KUIPER__BASIC__AESKEY: 'MDEyMzQ1Njc4OWFiY2RlZg==',
      KUIPER__RULE__QOS: '1',
      UNRELATED__X: '1',
    })
    expect([basic.restPort, basic.debug, basic.aesKey, rule['qos']]).toEqual([
      9082,
      true,
      'MDEyMzQ1Njc4OWFiY2RlZg==',
      1,
    ])
  })

  it.each([
    ['basic:\n  restPort: x\n', /kuiper\.yaml, section basic: .*'restPort' expected type 'int'/s],
    ['basic: 7\n', /kuiper\.yaml: basic must hold keys and values/],
    ['basic:\n  aesKey: YWJj\n', /basic\.aesKey must be base64 of 16, 24 or 32 bytes, got 3/],
    ['basic:\n  logLevel: loud\n', /'logLevel' must be one of debug, info/],
    ['basic:\n  restTls: {certfile: a}\n', /basic\.restTls needs both certfile and keyfile/],
    ['basic: [\n', /kuiper\.yaml is not YAML/],
    ['- a\n', /kuiper\.yaml must hold keys and values/],
  ])('%j is refused with file, key and reason', async (text, message) => {
    write(text)
    await expect(loadSettings(etc, {})).rejects.toThrow(message)
  })

  it('that descend into a value by the environment are refused', async () => {
    write('basic:\n  restPort: 1\n')
    await expect(loadSettings(etc, { KUIPER__BASIC__RESTPORT__X: '1' })).rejects.toThrow(
      /KUIPER__BASIC__RESTPORT__X descends into restPort, which is a value/,
    )
  })

  it('of the sink cache fit a page size that is given alone', async () => {
    write('sink:\n  bufferPageSize: 10\n')
    expect((await loadSettings(etc, {})).sink).toEqual({
      bufferPageSize: 10,
      memoryCacheThreshold: 1030,
      maxDiskCache: 1_024_000,
    })
  })

  it('of the sink cache are corrected, not refused', async () => {
    write('sink:\n  bufferPageSize: 0\n  memoryCacheThreshold: 300\n  maxDiskCache: -1\n  resendPriority: 9\n')
    expect((await loadSettings(etc, {})).sink).toEqual({
      bufferPageSize: 256,
      memoryCacheThreshold: 512,
      maxDiskCache: 1_024_000,
      resendPriority: 0,
    })
  })
})
