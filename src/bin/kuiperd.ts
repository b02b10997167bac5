#!/usr/bin/env node
/** The daemon under the name the reference gives it. */
import module from 'node:module'
import { serveArguments } from './arguments.ts'
import { serve } from './serve.ts'

// Node.js 22 and later keep compiled code between runs.
;(module as { enableCompileCache?: () => void }).enableCompileCache?.()

try {
  await serve(serveArguments(process.argv.slice(2)))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}
