import type { ScalarFunction } from './contract.ts'

export const regexpFunctions: readonly ScalarFunction[] = []
