import type { ScalarFunction } from './contract.ts'

export const stringFunctions: readonly ScalarFunction[] = []
