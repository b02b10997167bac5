import type { ScalarFunction } from './contract.ts'

export const mathFunctions: readonly ScalarFunction[] = []
