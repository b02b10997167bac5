// Relative links of the manual lead somewhere: files exist, and headings named by `#` are there.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const pages = ['README.md', 'CHANGELOG.md', ...walk('docs')].filter((file) => file.endsWith('.md'))
let problems = 0
for (const page of pages) {
  const text = withoutCode(readFileSync(page, 'utf8'))
  for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue
    const [path, anchor] = target.split('#')
    const file = path === '' ? page : normalize(join(dirname(page), path))
    const found = existsSync(file) && (!anchor || !file.endsWith('.md') || anchors(file).has(anchor))
    if (found) continue
    problems++
    console.error(`${page}: link to ${target} leads nowhere`)
  }
}
if (problems) process.exit(1)
console.log(`links: ${pages.length} pages in order`)

function* walk(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) yield* walk(join(folder, entry.name))
    else yield join(folder, entry.name)
  }
}

function anchors(file) {
  const headings = withoutCode(readFileSync(file, 'utf8')).matchAll(/^#+ (.+)$/gm)
  return new Set([...headings].map(([, title]) => slug(title)))
}

function slug(title) {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
}

function withoutCode(text) {
  return text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]()]/g, ''))
}
