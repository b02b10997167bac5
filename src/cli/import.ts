import { answer, type Command, type Context, indented, subject, UsageError } from './command.ts'

export const importCommand: Command = {
  name: 'import',
  usage: 'import ruleset -f FILE; import data -f FILE -s true|false -p true|false',
  run: subject('import', {
    async ruleset(context) {
      const content = await contentOf(context, 'Required ruleset json file to import')
      answer(context, await context.client.importRuleSet(content))
    },
    async data(context) {
      const content = await contentOf(context, 'Required configuration json file to import')
      const stop = flag(context.options.stop, 's')
      const partial = flag(context.options.partial, 'p')
      const result = await context.client.importData(content, { stop, partial })
      answer(context, indented(result), result)
    },
  }),
}

/** The file is read by the client, so it need not be on the server's machine. */
async function contentOf(context: Context, missing: string): Promise<string> {
  const { file } = context.options
  if (file === undefined) throw new UsageError(missing)
  try {
    return await context.readFile(file)
  } catch (error) {
    throw new UsageError(`fail to read file ${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function flag(value: string | undefined, name: string): boolean {
  if (value === 'true') return true
  if (value === 'false') return false
  throw new UsageError(`Expect ${name} flag to be a boolean value.`)
}
