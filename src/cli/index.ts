/** The command line client: finds the command, runs it, prints, returns the exit code (0 success, 1 failure). */
import { readFile, writeFile } from 'node:fs/promises'
import { ClientError, createClient } from '../client/index.ts'
import { type Command, type Options, UsageError } from './command.ts'
import { create } from './create.ts'
import { describe } from './describe.ts'
import { drop } from './drop.ts'
import { explain } from './explain.ts'
import { exportCommand } from './export.ts'
import { getstatus } from './getstatus.ts'
import { gettopo } from './gettopo.ts'
import { importCommand } from './import.ts'
import { ledger } from './ledger.ts'
import { push } from './push.ts'
import { restart } from './restart.ts'
import { show } from './show.ts'
import { start } from './start.ts'
import { stop } from './stop.ts'
import { validate } from './validate.ts'

export const commands: readonly Command[] = [
  create,
  describe,
  drop,
  explain,
  exportCommand,
  getstatus,
  gettopo,
  importCommand,
  ledger,
  push,
  restart,
  show,
  start,
  stop,
  validate,
]

const DEFAULT_SERVER = 'http://127.0.0.1:9081'

/** Options with a value and those without, by every spelling; one or two dashes. */
const valued: Readonly<Record<string, string>> = {
  f: 'file',
  file: 'file',
  o: 'output',
  output: 'output',
  s: 'stop',
  stop: 'stop',
  p: 'partial',
  partial: 'partial',
  r: 'rules',
  rules: 'rules',
  server: 'server',
  token: 'token',
  etc: 'ignored',
  loadFileType: 'ignored',
}
const switches: Readonly<Record<string, string>> = {
  json: 'json',
  force: 'force',
  readable: 'readable',
  h: 'help',
  help: 'help',
}

interface Parsed {
  readonly words: string[]
  readonly values: Readonly<Record<string, string>>
}

/** Options may stand before, between and after the words. */
function parse(given: readonly string[]): Parsed {
  const words: string[] = []
  const values: Record<string, string> = {}
  for (let i = 0; i < given.length; i++) {
    const word = given[i] as string
    const [, name = '', joined] = /^--?([A-Za-z]+)(?:=(.*))?$/s.exec(word) ?? []
    if (name !== '' && Object.hasOwn(switches, name)) values[switches[name] as string] = 'true'
    else if (name !== '' && Object.hasOwn(valued, name)) {
      const value = joined ?? given[++i]
      if (value === undefined) throw new UsageError(`flag needs an argument: ${word}`)
      values[valued[name] as string] = value
    } else words.push(word)
  }
  return { words, values }
}

function optionsOf(values: Parsed['values']): Options {
  const { file, stop: stopFlag, partial, rules, output } = values
  if (output !== undefined && output !== 'json' && output !== 'text') {
    throw new UsageError(`-o must be json or text, got ${output}`)
  }
  return {
    json: output === 'json' || values['json'] === 'true',
    force: values['force'] === 'true',
    readable: values['readable'] === 'true',
    ...(file !== undefined && { file }),
    ...(stopFlag !== undefined && { stop: stopFlag }),
    ...(partial !== undefined && { partial }),
    ...(rules !== undefined && { rules }),
  }
}

export async function run(given: readonly string[], program: string): Promise<number> {
  const print = (text: string): void => void process.stdout.write(`${text}\n`)
  try {
    const { words, values } = parse(given)
    const [name = 'help', ...rest] = words
    if (name === 'help' || values['help']) {
      print(overview(program))
      return 0
    }
    const command = commands.find((c) => c.name === name)
    if (!command) throw new UsageError(`unknown command ${name}\n${overview(program)}`)
    const options = optionsOf(values)
    const url = values['server'] ?? process.env['IXION_SERVER'] ?? DEFAULT_SERVER
    const token = values['token'] ?? process.env['IXION_TOKEN']
    const client = createClient({ url, ...(token && { token }) })
    // As the reference's client; the space at the end is its.
    if (program === 'kuiper' && !options.json) print(`Connecting to ${new URL(url).host}... `)
    await command.run({
      client,
      words: rest,
      options,
      print,
      readFile: (path) => readFile(path, 'utf8'),
      writeFile: (path, content) => writeFile(path, content),
    })
    return 0
  } catch (error) {
    print(problem(error))
    // Beside the reference's text, so on the other stream.
    if (error instanceof ClientError) {
      for (const more of [error.place && `at ${error.place}`, error.hint]) if (more) process.stderr.write(`  ${more}\n`)
    }
    return 1
  }
}

function problem(error: unknown): string {
  if (error instanceof ClientError && error.unreachable) {
    return 'Failed to connect the server, please start the server.'
  }
  return error instanceof Error ? error.message : String(error)
}

function overview(program: string): string {
  const lines = commands.map((c) => `  ${c.usage}`)
  const daemon = program === 'ixion' ? ['  serve [--etc DIR] [--data DIR] [--host ADDRESS] [--port PORT]'] : []
  return [
    `usage: ${program} COMMAND`,
    '',
    ...daemon,
    ...lines,
    '',
    'options: --server URL (or IXION_SERVER), --token JWT (or IXION_TOKEN), -o json',
  ].join('\n')
}
