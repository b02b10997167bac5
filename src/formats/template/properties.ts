/**
 * Dynamic properties (spec/connectors.md 4.4): which texts of a configuration are templates.
 */
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

/** Templates among the properties by dotted name, nested maps included, lists not; without the names in `except`, groups included. */
export function findTemplates(properties: ValueObject, except: readonly string[] = []): Map<string, string> {
  const found = new Map<string, string>()
  const visit = (object: ValueObject, group: string): void => {
    for (const [key, value] of Object.entries(object)) {
      const name = group + key
      if (except.includes(name)) continue
      if (typeof value === 'string') {
        if (isTemplate(value)) found.set(name, value)
      } else if (isObject(value)) visit(value, `${name}.`)
    }
  }
  visit(properties, '')
  return found
}

/** Text of each template, rendered: what a connector looks its dynamic properties up in. */
export type RenderedProperties = Readonly<Record<string, string>>
