import { quoteJson } from '../../core/json-encode.ts'
import { encodeUtf8 } from '../../core/utf8.ts'
import type { OutputProgram } from '../../kernel/program.ts'
import type { Expression } from '../../sql/ast.ts'
import type { LoopPlan } from './generate.ts'
import type { OutputField } from './select-plan.ts'

/** Text literals of the outputs, as the JSON text that the kernel copies. */
export function outputConstants(outputs: readonly OutputField[]): { bytes: Uint8Array; ranges: LoopPlan['constants'] } {
  const ranges = new Map<string, { offset: number; length: number }>()
  const parts: number[] = []
  const visit = (e: Expression): void => {
    if (e.kind === 'string' && !ranges.has(e.value)) {
      const bytes = encodeUtf8(quoteJson(e.value))
      ranges.set(e.value, { offset: parts.length, length: bytes.length })
      parts.push(...bytes)
    }
    if (e.kind === 'alias' || e.kind === 'parenthesis') visit(e.expression)
    if (e.kind === 'case') {
      for (const b of e.branches) visit(b.then)
      if (e.otherwise) visit(e.otherwise)
    }
  }
  for (const o of outputs) visit(o.expression)
  return { bytes: Uint8Array.from(parts), ranges }
}

/** How messages are written: `columns` are those of the visible outputs, `around` stands before and after each row. */
export function outputProgram(
  outputs: readonly OutputField[],
  columns: readonly number[],
  constants: Uint8Array,
  [open, close]: readonly [open: string, close: string],
): OutputProgram {
  const visible = outputs.filter((o) => o.visible)
  return {
    columns: visible.map((o, i) => ({
      key: encodeUtf8(`${quoteJson(o.name)}:`),
      column: columns[i] as number,
      missing: o.missing,
      null: o.null,
    })),
    open: encodeUtf8(open),
    close: encodeUtf8(close),
    constants,
  }
}
