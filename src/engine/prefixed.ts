import { IxionError, messageOf } from '../core/errors.ts'

/** The same error with its message in the frame of a caller. */
export function prefixed(prefix: string, error: unknown, suffix = ''): IxionError {
  const message = `${prefix}${messageOf(error)}${suffix}`
  if (!(error instanceof IxionError)) return new IxionError('INTERNAL', message, { cause: error })
  const { line, column, hint, path } = error
  return new IxionError(error.code, message, {
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
    ...(hint !== undefined && { hint }),
    ...(path !== undefined && { path }),
    cause: error,
  })
}
