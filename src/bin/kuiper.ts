#!/usr/bin/env node
/** The client under the name the reference gives it. */
import { run } from '../cli/index.ts'

process.exitCode = await run(process.argv.slice(2), 'kuiper')
