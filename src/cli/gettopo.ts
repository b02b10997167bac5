import { answer, type Command, indented, reworded, ruleName, subject } from './command.ts'

export const gettopo: Command = {
  name: 'gettopo',
  usage: 'gettopo rule NAME',
  run: subject('gettopo', {
    async rule(context, rest) {
      const topology = await reworded(context.client.ruleTopology(ruleName(rest)), 'get rule topo error: ')
      answer(context, indented(topology), topology)
    },
  }),
}
