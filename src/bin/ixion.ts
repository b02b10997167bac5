#!/usr/bin/env node
/** `ixion serve` runs the engine; every other command is the client. */
import module from 'node:module'

// Node.js 22 and later keep compiled code between runs.
;(module as { enableCompileCache?: () => void }).enableCompileCache?.()

const [command = 'help', ...rest] = process.argv.slice(2)

if (command === 'serve') {
  const { main } = await import('./serve.ts')
  await main(rest)
} else {
  const { run } = await import('../cli/index.ts')
  process.exitCode = await run([command, ...rest], 'ixion')
}
