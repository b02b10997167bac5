import type { ScalarFunction } from './contract.ts'

export const transformFunctions: readonly ScalarFunction[] = []
