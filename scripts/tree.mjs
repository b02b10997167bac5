// What no file of the tree may hold: paths of somebody's machine, package registry hosts, tests that are switched off.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
  encoding: 'utf8',
})
const files = listed.split('\0').filter((file) => file !== '' && file !== 'scripts/tree.mjs' && existsSync(file))

const rules = [
  [/(?<![\w.:/-])\/(?:work|root|home|Users)\/[\w.-]+/, 'a path of one machine'],
  [/\bregistry\.(?:npmjs|yarnpkg|npmmirror)\.|^\s*(?:@\w+:)?registry\s*=|"resolved":\s*"http/m, 'a package registry'],
]
const testRules = [
  [/\b(?:test|it|describe)(?:\.\w+)*\.only\b/, '.only leaves the other tests out'],
  [
    /(?<!\/\/[^\n]*\n?[^\n]*)\b(?:test|it|describe)(?:\.\w+)*\.(?:skip|skipIf|runIf|todo|fails)\b/,
    'a test is off without a reason (comment on the line or above)',
  ],
]

let problems = 0
for (const file of files) {
  const text = readFileSync(file, 'utf8')
  if (text.includes('\0')) continue
  for (const [pattern, what] of file.endsWith('.test.ts') ? [...rules, ...testRules] : rules) {
    const hit = pattern.exec(text)
    if (!hit) continue
    problems++
    console.error(`${file}:${text.slice(0, hit.index).split('\n').length}: ${what}: ${hit[0].trim()}`)
  }
}
if (problems) process.exit(1)
console.log(`tree: ${files.length} files clean`)
