import { expect, it } from 'vitest'
import { compileTemplate } from './compile.ts'
import { compileProperty, findTemplates, isTemplate } from './properties.ts'

const compile = (text: string) => compileTemplate(text, { now: () => 0, random: () => 0 })

it('sees an action on one line as a template', () => {
  expect(['a', '{{', '}}{{', '{{a', '{ {.a}}'].filter(isTemplate)).toEqual([])
  expect(['{{.a}}', 'x/{{.a}}/y', '{{}}', '{{\n{{.a}}'].filter(isTemplate)).toHaveLength(4)
})

it('finds templates in nested maps but not in lists', () => {
  expect(
    findTemplates({
      topic: '{{.t}}',
      n: 1n,
      headers: { a: 'x{{.b}}', c: { d: '{{.t}}' } },
      list: ['{{.no}}'],
      text: 'plain',
    }),
  ).toEqual(['{{.t}}', 'x{{.b}}'])
})

it('renders a property, and leaves other text alone', () => {
  expect(compileProperty('devices/{{.id}}', compile)({ id: 7n })).toBe('devices/7')
  expect(compileProperty('devices/{.id}', compile)({ id: 7n })).toBe('devices/{.id}')
  expect(() => compileProperty('{{.a', compile)).not.toThrow()
  expect(() => compileProperty('{{bad}}', compile)).toThrow(
    'Template Invalid: template: sink:1: function "bad" not defined',
  )
})
