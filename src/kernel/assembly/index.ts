// The kernel's doors. Built by scripts/build-kernel.mjs; used through src/kernel/kernel.ts alone.
import { H } from './state'

export { checkRest, kindMasks, scanLines, scanMore, scanPayloads } from './scan'
export { columnIds, textId } from './dictionary'
export { encodeRows, rowsEncoded } from './encode'

export function header(): usize {
  return H
}
export function heapBase(): usize {
  return __heap_base
}
