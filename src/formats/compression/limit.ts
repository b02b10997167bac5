import { RowError } from '../../core/errors.ts'

export function tooLarge(maxBytes: number): RowError {
  return new RowError(`failed to decompress: more than ${maxBytes} bytes`, 'LIMIT')
}

export function corrupt(problem: string): RowError {
  return new RowError(`failed to decompress: ${problem}`, 'DECODE')
}
