import type { ScalarFunction } from './contract.ts'

export const hashFunctions: readonly ScalarFunction[] = []
