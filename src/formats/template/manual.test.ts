/** The examples of docs/data-templates.md: a template, its input as JSON, its output. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { decodeJsonText } from '../json.ts'
import { compileTemplate } from './compile.ts'
import { functions } from './functions/index.ts'

const page = readFileSync(new URL('../../../docs/data-templates.md', import.meta.url), 'utf8')
const block = (info: string): string => `\`\`\`${info}\\n([\\s\\S]*?)\\n\`\`\``
const example = new RegExp([block('gotemplate'), block('json'), block('text')].join('\\n\\n'), 'g')
const examples = [...page.matchAll(example)].map(([, template = '', input = '', output = '']) => ({
  template,
  input,
  output,
}))

describe('docs/data-templates.md', () => {
  it('has only complete examples', () => {
    expect(examples.length).toBeGreaterThan(4)
    expect(page.split('```gotemplate')).toHaveLength(examples.length + 1)
  })

  it.each(examples)('shows what really happens: $template', ({ template, input, output }) => {
    const render = compileTemplate(template, { now: () => 0, random: () => 0 })
    expect(render(decodeJsonText(input, { wholeNumbersAsInt64: true }))).toBe(output)
  })

  it('names functions that exist', () => {
    const table = page.slice(page.indexOf('| Go |'), page.indexOf('The `must...` forms'))
    const names = [...table.matchAll(/`([a-zA-Z0-9 ]+)`/g)].flatMap((m) => (m[1] as string).split(' '))
    expect(names.filter((n) => n !== 'and' && n !== 'or' && !Object.hasOwn(functions, n))).toEqual([])
  })
})
