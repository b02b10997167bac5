/**
 * Runs the JavaScript module of a custom format. The module is CommonJS text (`exports.decode = (payload, message) => ...`,
 * `exports.encode = (value, message) => ...`) in a context of its own: no `require`, no process, no files, and a time limit on
 * every call. That keeps a mistake from harming the engine; it is no fence against hostile code, which only whoever may
 * register schemas can bring in.
 */
import vm from 'node:vm'
import type { Value, ValueObject } from '../core/values.ts'
import type { CustomCodec, CustomLoader } from '../formats/contract.ts'

/** Longest a module may take to load, or one call may take; ms. */
const TIME_LIMIT_MS = 100

export const loadCustomCodec: CustomLoader = (name, text) => {
  const exports: Record<string, unknown> = {}
  const context = vm.createContext({ exports, module: { exports }, TextEncoder, TextDecoder })
  new vm.Script(text, { filename: `schema ${name}` }).runInContext(context, { timeout: TIME_LIMIT_MS })
  const found = vm.runInContext('module.exports', context) as Record<string, unknown>
  const codec: CustomCodec = {}
  if (typeof found['decode'] === 'function') {
    const call = caller(context, 'decode')
    codec.decode = (payload, message) => call(payload, message) as ValueObject | ValueObject[]
  }
  if (typeof found['encode'] === 'function') {
    const call = caller(context, 'encode')
    codec.encode = (value, message) => call(value, message) as Uint8Array | string
  }
  return codec
}

/** Calls an export with the time limit; arguments and results are copied, so that neither side holds the other's objects. */
function caller(
  context: vm.Context,
  name: 'decode' | 'encode',
): (input: Uint8Array | Value, message: string) => unknown {
  const script = new vm.Script(`module.exports.${name}($input, $message)`)
  return (input, message) => {
    context['$input'] = structuredClone(input)
    context['$message'] = message
    return structuredClone(script.runInContext(context, { timeout: TIME_LIMIT_MS }))
  }
}
