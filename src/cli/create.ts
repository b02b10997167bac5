import type { Kind } from '../client/index.ts'
import { answer, type Command, type Context, fromFile, reworded, subject, UsageError } from './command.ts'

export const create: Command = {
  name: 'create',
  usage:
    "create stream|table NAME '(...) WITH (...)' | -f FILE; create rule NAME JSON | NAME -f FILE; create schema TYPE NAME JSON",
  run: subject('create', {
    stream: (context, rest) => createSource(context, 'stream', rest),
    table: (context, rest) => createSource(context, 'table', rest),
    rule: createRule,
    schema: createSchema,
  }),
}

async function createSource(context: Context, kind: Kind, rest: readonly string[]): Promise<void> {
  const given = context.options.file === undefined ? rest.join(' ') : (await fromFile(context, kind)).trim()
  const head = new RegExp(`^create\\s+${kind}\\b`, 'i')
  const sql = head.test(given) ? given : `CREATE ${kind.toUpperCase()} ${given}`
  answer(context, `${await context.client.execute(sql, kind)}\n`)
}

async function createRule(context: Context, rest: readonly string[]): Promise<void> {
  const document = await ruleDocument(context, rest)
  await reworded(context.client.createRule(document.text), '', (text) => `Create rule ${document.id} error : ${text}.`)
  answer(
    context,
    `Rule ${document.id} was created successfully, please use 'bin/kuiper getstatus rule ${document.id}' command to get rule status.`,
  )
}

/** NAME JSON, or NAME with `-f`; the name goes into a document that has no id. */
export async function ruleDocument(
  context: Context,
  rest: readonly string[],
): Promise<{ readonly id: string; readonly text: string }> {
  const fileGiven = context.options.file !== undefined
  const [name = '', json = ''] = rest
  if (name === '' || rest.length !== (fileGiven ? 1 : 2)) {
    throw new UsageError(`Expect rule name and json.\nBut found ${rest.length} args:[${rest.join(' ')}].`)
  }
  const text = fileGiven ? await fromFile(context, 'rule') : json
  return { id: name, text: withId(text, name) }
}

function withId(text: string, id: string): string {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    // The server reports it, with its own words.
    return text
  }
  if (document === null || typeof document !== 'object' || Array.isArray(document) || 'id' in document) return text
  return JSON.stringify({ id, ...document })
}

async function createSchema(context: Context, rest: readonly string[]): Promise<void> {
  const [type = '', name = '', json = ''] = rest
  if (json === '') throw new UsageError('Expect plugin type, name and json.')
  await context.client.createSchema(type, json)
  answer(context, `Schema ${name} is created.`)
}
