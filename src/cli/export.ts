import { answer, type Command, subject, UsageError } from './command.ts'

export const exportCommand: Command = {
  name: 'export',
  usage: `export ruleset FILE; export data FILE [-r '["RULE"]']`,
  run: subject('export', {
    async ruleset(context, rest) {
      const content = await context.client.exportRuleSet()
      const { streams, tables, rules } = JSON.parse(content) as Record<string, object>
      const count = (texts: object | undefined): number => Object.keys(texts ?? {}).length
      await context.writeFile(fileName(rest), content)
      answer(context, `exported ${count(streams)} streams, ${count(tables)} tables and ${count(rules)} rules`)
    },
    async data(context, rest) {
      const file = fileName(rest)
      await context.writeFile(file, await context.client.exportData(rulesIn(context.options.rules)))
      answer(context, 'export configuration success')
    },
  }),
}

function fileName(rest: readonly string[]): string {
  const [file] = rest
  if (file === undefined) throw new UsageError('Require exported file name.')
  return file
}

function rulesIn(text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined
  try {
    const ids: unknown = JSON.parse(text)
    if (Array.isArray(ids) && ids.every((id) => typeof id === 'string')) return ids as string[]
  } catch {
    // Reported below.
  }
  throw new UsageError(`rules ${text} unmarshal error, expect a JSON array of rule names`)
}
