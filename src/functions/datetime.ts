import type { ScalarFunction } from './contract.ts'

export const datetimeFunctions: readonly ScalarFunction[] = []
