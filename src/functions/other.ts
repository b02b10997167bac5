import type { ScalarFunction } from './contract.ts'

export const otherFunctions: readonly ScalarFunction[] = []
