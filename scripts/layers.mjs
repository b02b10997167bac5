// The fence between folders (docs/architecture.md): each may import only what the table allows. Also forbids reading the clock
// or randomness outside core/clock.ts, and import cycles between files.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const src = join(root, 'src')

/** Folder -> folders it may import besides itself; `x/file` allows that one file of x. */
const table = {
  core: [],
  sql: ['core'],
  functions: ['core'],
  plan: ['core', 'sql', 'functions'],
  operators: ['core', 'stores/contract', 'connectors/contract'],
  kernel: ['core'],
  compile: ['core', 'kernel', 'sql', 'functions', 'plan', 'operators', 'formats', 'connectors/contract'],
  formats: ['core', 'kernel'],
  stores: ['core'],
  connectors: ['core', 'formats/contract'],
  runtime: ['core', 'operators', 'connectors/contract', 'formats/contract', 'stores/contract'],
  catalog: ['core', 'sql', 'stores', 'formats/contract'],
  extensions: ['core', 'functions/contract', 'connectors/contract', 'formats/contract'],
  engine: [
    'core',
    'sql',
    'functions',
    'plan',
    'operators',
    'kernel',
    'compile',
    'formats',
    'stores',
    'connectors',
    'runtime',
    'catalog',
    'extensions',
  ],
  client: [],
  server: ['engine', 'client', 'core'],
  cli: ['client'],
  bin: ['*'],
}

/** File -> where the clock may be read: the daemon's own entry points and test support. */
const clockAllowed = /^(core\/clock\.ts|bin\/)/
const clockUse = /\bDate\.now\s*\(|\bnew Date\(\s*\)|\bsetTimeout\s*\(|\bsetInterval\s*\(|\bMath\.random\s*\(/

function* files(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      if (entry.name !== 'assembly' && entry.name !== 'generated') yield* files(path)
    } else if (entry.name.endsWith('.ts')) yield path
  }
}

const isTest = (file) => /\.(test|suite|fixture|bench)\.ts$/.test(file)
const problems = []
const graph = new Map()
for (const path of files(src)) {
  const file = relative(src, path)
  if (isTest(file)) continue
  const text = readFileSync(path, 'utf8')
  const folder = file.split('/')[0]
  const allowed = table[folder]
  if (!allowed) {
    problems.push(`src/${file}: folder ${folder} is not in the layer table of scripts/layers.mjs`)
    continue
  }
  const code = text.replace(/\/\*[\s\S]*?\*\//g, (c) => c.replace(/[^\n]/g, ' ')).replace(/^\s*\/\/.*$/gm, '')
  if (!clockAllowed.test(file)) {
    code.split('\n').forEach((line, i) => {
      if (clockUse.test(line))
        problems.push(`src/${file}:${i + 1}: reads the clock, a timer or randomness; inject core/clock`)
    })
  }
  const edges = []
  for (const match of code.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
    const target = relative(src, resolve(dirname(path), match[1]))
    const typeOnly = /import\s+type\s[^;]*$/.test(
      code
        .slice(Math.max(0, match.index - 400), match.index)
        .split(/\n(?=import|export)/)
        .pop() ?? '',
    )
    if (!typeOnly) edges.push(target)
    const to = target.split('/')[0]
    if (to === folder || allowed.includes('*')) continue
    const ok = allowed.some((a) => a === to || (a.includes('/') && target === `${a}.ts`))
    if (!ok) problems.push(`src/${file}: may not import ${target} (layer ${folder})`)
  }
  graph.set(file, edges)
}

// Cycles of value imports across folders. Within one folder mutually recursive files (expressions and calls) are fine.
const state = new Map()
const visit = (file, trail) => {
  if (state.get(file) === 'done') return
  if (state.get(file) === 'open') {
    const cycle = [...trail.slice(trail.indexOf(file)), file]
    if (new Set(cycle.map((f) => f.split('/')[0])).size > 1) problems.push(`import cycle: ${cycle.join(' -> ')}`)
    return
  }
  state.set(file, 'open')
  for (const next of graph.get(file) ?? []) if (graph.has(next)) visit(next, [...trail, file])
  state.set(file, 'done')
}
for (const file of graph.keys()) visit(file, [])

for (const p of problems) console.error(p)
if (problems.length) process.exit(1)
console.log(`layers: ${graph.size} files in order`)
