import { IxionError } from '../core/errors.ts'

/** Names of streams, tables, rules, connections, schemas (spec/rest-api.md 1.7). Throws when `id` is not one. */
export function checkIdentifier(id: string): void {
  const fail = (message: string): never => {
    throw new IxionError('INVALID_DOCUMENT', message)
  }
  if (id === '') fail('id cannot be empty')
  if (id.trim() !== id) fail(`id '${id}' contains leading or trailing whitespace`)
  if (!/^[a-zA-Z0-9_-]+$/.test(id)) {
    fail(`id '${id}' contains invalid characters: only alphanumeric, hyphens and underscores are allowed`)
  }
}
