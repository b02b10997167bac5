import { expect, it } from 'vitest'
import { findTemplates, isTemplate } from './properties.ts'

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
  ).toEqual(
    new Map([
      ['topic', '{{.t}}'],
      ['headers.a', 'x{{.b}}'],
      ['headers.c.d', '{{.t}}'],
    ]),
  )
})

it('leaves out the properties a connector renders itself, groups included', () => {
  const properties = { url: '{{.u}}', headers: { a: '{{.a}}' }, oauth: { access: { body: '{{.t}}' } } }
  expect([...findTemplates(properties, ['headers', 'oauth.access']).keys()]).toEqual(['url'])
})
