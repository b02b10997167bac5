/** Upper half of the last product made by `multiply`. */
export let high: u64 = 0

/** 64 x 64 bits: returns the lower half, leaves the upper one in `high`. */
// @ts-ignore: decorator
@inline export function multiply(a: u64, b: u64): u64 {
  const a0 = a & 0xffffffff
  const a1 = a >> 32
  const b0 = b & 0xffffffff
  const b1 = b >> 32
  const p00 = a0 * b0
  const p01 = a0 * b1
  const p10 = a1 * b0
  const middle = p10 + (p00 >> 32) + (p01 & 0xffffffff)
  high = a1 * b1 + (middle >> 32) + (p01 >> 32)
  return a * b
}
