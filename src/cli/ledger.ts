import { answer, type Command, indented, ruleName, subject } from './command.ts'

export const ledger: Command = {
  name: 'ledger',
  usage: 'ledger rule NAME: received, emitted, filtered, dropped by reason, in flight',
  run: subject('ledger', {
    async rule(context, rest) {
      const reading = await context.client.ruleLedger(ruleName(rest))
      answer(context, indented(reading), reading)
    },
  }),
}
