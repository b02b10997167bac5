import type { Kind } from '../client/index.ts'
import { answer, type Command, type Context, indented, reworded, ruleName, subject, UsageError } from './command.ts'

export const describe: Command = {
  name: 'describe',
  usage: 'describe stream|table NAME [-json]; describe rule NAME; describe schema TYPE NAME',
  run: subject('describe', {
    stream: (context, rest) => describeSource(context, 'stream', rest),
    table: (context, rest) => describeSource(context, 'table', rest),
    rule: describeRule,
    schema: describeSchema,
  }),
}

async function describeSource(context: Context, kind: Kind, rest: readonly string[]): Promise<void> {
  const text = await context.client.execute(`DESCRIBE ${kind.toUpperCase()} ${rest.join(' ')}`, kind)
  const plain = unescapeHtml(text)
  if (context.options.json) context.print(JSON.stringify(described(plain), null, '\t'))
  else context.print(plain)
}

const entities: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
  '&#39;': "'",
  '&#34;': '"',
}

function unescapeHtml(text: string): string {
  return text.replace(/&(?:lt|gt|amp|#39|#34);/g, (e) => entities[e] as string)
}

/** The DESCRIBE text as the reference's JSON; option keys keep their colon. */
function described(text: string): unknown {
  const [head = '', tail = ''] = text.split('\n\n', 2)
  const fields = head
    .split('\n')
    .slice(2)
    .map((line) => {
      const [Name, Type] = line.split('\t')
      return { Name, Type }
    })
  const options = tail
    .split('\n')
    .filter((line) => line !== '')
    .map((line): [string, string] => {
      const at = line.indexOf(':')
      return [line.slice(0, at + 1), line.slice(at + 1).replaceAll(' ', '')]
    })
  return { Fields: fields.length > 0 ? fields : null, Options: Object.fromEntries(options) }
}

async function describeRule(context: Context, rest: readonly string[]): Promise<void> {
  const document: unknown = JSON.parse(
    await reworded(
      context.client.rule(ruleName(rest)),
      'Describe rule error: ',
      (text) => `Desc rule error : ${text}.`,
    ),
  )
  answer(context, `${indented(document)}\n`, document)
}

async function describeSchema(context: Context, rest: readonly string[]): Promise<void> {
  const [type = '', name = ''] = rest
  if (name === '') throw new UsageError('Expect schema type and name.')
  const schema = await context.client.schema(type, name)
  answer(context, indented(schema), schema)
}
