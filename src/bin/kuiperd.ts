#!/usr/bin/env node
/** The daemon under the name the reference gives it. */
import { serveArguments } from './arguments.ts'
import { serve } from './serve.ts'

try {
  await serve(serveArguments(process.argv.slice(2)))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}
