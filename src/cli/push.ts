import { answer, type Command, UsageError } from './command.ts'

export const push: Command = {
  name: 'push',
  usage: 'push STREAM JSON | STREAM -f FILE: one row or an array of rows into a running stream',
  async run(context) {
    const [stream, ...json] = context.words
    if (stream === undefined) throw new UsageError('Expect stream name and rows.')
    const rows = context.options.file === undefined ? json.join(' ') : await context.readFile(context.options.file)
    const result = await context.client.push(stream, rows)
    answer(context, `${result.accepted} rows accepted by ${result.rules} rules`, result)
  },
}
