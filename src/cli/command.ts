/** What a command gets and is. Output texts follow the reference (spec/rest-api.md 10); exit codes tell success. */
import { type Client, ClientError } from '../client/index.ts'

export interface Context {
  readonly client: Client
  /** Words after the command, options taken out. */
  readonly words: readonly string[]
  readonly options: Options
  /** One line (or several) to the standard output. */
  print(text: string): void
  readFile(path: string): Promise<string>
  writeFile(path: string, content: string): Promise<void>
}

export interface Options {
  readonly file?: string
  readonly json: boolean
  readonly stop?: string
  readonly partial?: string
  readonly rules?: string
  readonly force: boolean
  readonly readable: boolean
}

export interface Command {
  readonly name: string
  /** One line for the overview. */
  readonly usage: string
  run(context: Context): Promise<void>
}

/** A mistake in the command line; the text is the whole message. */
export class UsageError extends Error {}

/** Picks the handler of `create stream`, `create rule` ... by the first word. */
export function subject(
  command: string,
  handlers: Readonly<Record<string, (context: Context, rest: readonly string[]) => Promise<void>>>,
): Command['run'] {
  return async (context) => {
    const [word = '', ...rest] = context.words
    const handler = Object.hasOwn(handlers, word) ? handlers[word] : undefined
    if (!handler) {
      throw new UsageError(`usage: ${command} ${Object.keys(handlers).join('|')} ...`)
    }
    await handler(context, rest)
  }
}

/** Name of the rule, the only word. */
export function ruleName(rest: readonly string[]): string {
  const [name] = rest
  if (name === undefined || rest.length !== 1) throw new UsageError('Expect rule name.')
  return name
}

/** With `-o json`: the value on one line; else the text. */
export function answer(context: Context, text: string, value?: unknown): void {
  context.print(context.options.json ? JSON.stringify(value ?? { message: text.trimEnd() }) : text)
}

/** Content of the file of `-f`, after the reference's announcement. */
export async function fromFile(context: Context, kind: string): Promise<string> {
  const { file = '' } = context.options
  let content: string
  try {
    content = await context.readFile(file)
  } catch {
    throw new UsageError(`The specified ${kind} defenition file ${file} is not existed.`)
  }
  if (!context.options.json) context.print(`Creating a new ${kind} from file ${file}.`)
  return content
}

export const indented = (value: unknown): string => JSON.stringify(value, null, 2)

/**
 * The reference's client has its own frames around errors: the text of the server without its frame `strip`, in the frame of
 * the command.
 */
export async function reworded<T>(
  work: Promise<T>,
  strip: string,
  frame: (text: string) => string = (text) => text,
): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof ClientError) || error.unreachable) throw error
    const text = error.message.startsWith(strip) ? error.message.slice(strip.length) : error.message
    throw new ClientError(error.status, error.code, frame(text), error)
  }
}
