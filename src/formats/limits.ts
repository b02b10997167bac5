/** Checks every decoder shares. */
import { RowError } from '../core/errors.ts'
import type { DecodeOptions } from './contract.ts'

export function checkSize(payload: Uint8Array, options: DecodeOptions): void {
  if (payload.length > options.maxPayloadBytes) {
    throw new RowError(
      `payload of ${payload.length} bytes exceeds the limit of ${options.maxPayloadBytes} bytes`,
      'LIMIT',
    )
  }
}

export function checkRows(count: number, options: DecodeOptions): void {
  if (count > options.maxRows) {
    throw new RowError(`payload of ${count} rows exceeds the limit of ${options.maxRows} rows`, 'LIMIT')
  }
}
