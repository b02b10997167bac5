/** The explicit list: recorded file -> the module that runs its cases. */
import type { CaseRunner } from '../contract.ts'

export const runners: Record<string, () => Promise<CaseRunner>> = {
  'parse.jsonl': async () => (await import('./parse.ts')).run,
  'cast.jsonl': async () => (await import('./cast.ts')).run,
  'functions.jsonl': async () => (await import('./functions.ts')).run,
  'codec.jsonl': async () => (await import('./codec.ts')).run,
  'template.jsonl': async () => (await import('./template.ts')).run,
  'operators.jsonl': async () => (await import('./operators.ts')).run,
  'windows.jsonl': async () => (await import('./windows.ts')).run,
  'rules.jsonl': async () => (await import('./rules.ts')).run,
  'rest.jsonl': async () => (await import('./rest.ts')).run,
}
