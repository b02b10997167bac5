import type { ScalarFunction } from './contract.ts'

export const jsonFunctions: readonly ScalarFunction[] = []
