import { answer, type Command, indented, reworded, ruleName, subject } from './command.ts'

export const getstatus: Command = {
  name: 'getstatus',
  usage: 'getstatus rule NAME; getstatus import',
  run: subject('getstatus', {
    async rule(context, rest) {
      const text = await reworded(context.client.ruleStatusText(ruleName(rest)), 'get rule status error: ')
      answer(context, text, JSON.parse(text))
    },
    async import(context) {
      const status = await context.client.importStatus()
      answer(context, indented(status), status)
    },
  }),
}
