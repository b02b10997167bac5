/** What is wrong with a JSON text, in the reference's words where a client may look for them. */
export function jsonProblem(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return /^(Unexpected end of JSON|Unterminated string)/.test(message) ? 'unexpected end of JSON input' : message
}
