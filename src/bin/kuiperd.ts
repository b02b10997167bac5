#!/usr/bin/env node
/** The daemon under the name the reference gives it. */
import module from 'node:module'

// Node.js 22 and later keep compiled code between runs.
;(module as { enableCompileCache?: () => void }).enableCompileCache?.()

const { main } = await import('./serve.ts')
await main(process.argv.slice(2))
