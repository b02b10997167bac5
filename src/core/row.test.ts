import { describe, expect, it } from 'vitest'
import { makeJoinedRow, makeRow, qualifiedColumn } from './row.ts'

describe('a column of one source of a joined row', () => {
  const part = (emitter: string, message: Record<string, number | null>) => makeRow(emitter, message, 0)
  const column = (...parts: ReturnType<typeof part>[]) => qualifiedColumn(makeJoinedRow(parts, 0), 's', 'a')

  it('is the first that is not null', () => {
    expect(column(part('s', { a: null }), part('t', { a: 1 }), part('s', { a: 2 }), part('s', { a: 3 }))).toBe(2)
  })

  it('is null when the source has it as null, and missing when it has no such column', () => {
    expect(column(part('s', { a: null }), part('t', { a: 1 }))).toBeNull()
    expect(column(part('s', { b: 1 }), part('t', { a: 1 }))).toBeUndefined()
  })
})
