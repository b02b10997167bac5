/**
 * Dynamic properties (spec/connectors.md 4.4): which texts of a configuration are templates, and rendering one on a row.
 */
import { IxionError, messageOf } from '../../core/errors.ts'
import { isObject, type ValueObject } from '../../core/values.ts'
import type { Template } from './compile.ts'

/** compileTemplate with its options given. Injected, so that nothing here loads the template language. */
export type CompileTemplate = (text: string) => Template

/** True for a text with an action on one line: eKuiper's `{{(.*?)}}`. */
export function isTemplate(text: string): boolean {
  for (let open = text.indexOf('{{'); open >= 0; open = text.indexOf('{{', open + 1)) {
    const close = text.indexOf('}}', open + 2)
    if (close < 0) return false
    const line = text.indexOf('\n', open)
    if (line < 0 || line >= close) return true
  }
  return false
}

/** The template texts among the properties, nested maps included, lists not; each once, in order of appearance. */
export function findTemplates(properties: ValueObject): string[] {
  const found = new Set<string>()
  const visit = (object: ValueObject): void => {
    for (const value of Object.values(object)) {
      if (typeof value === 'string') {
        if (isTemplate(value)) found.add(value)
      } else if (isObject(value)) visit(value)
    }
  }
  visit(properties)
  return [...found]
}

/** A property's text for one row (or list of rows); a text that is no template is itself. */
export function compileProperty(text: string, compile: CompileTemplate): Template {
  if (!isTemplate(text)) return () => text
  try {
    return compile(text)
  } catch (error) {
    if (!(error instanceof IxionError)) throw error
    const { line, column, hint } = error
    throw new IxionError('INVALID_PROPERTY', `Template Invalid: ${messageOf(error)}`, {
      ...(line !== undefined && { line }),
      ...(column !== undefined && { column }),
      ...(hint !== undefined && { hint }),
      cause: error,
    })
  }
}

/** Text of each template, rendered: what a connector looks its dynamic properties up in. */
export type RenderedProperties = Readonly<Record<string, string>>
