/** `semver` and `semverCompare`: versions and constraints such as `>=1.2 <2 || ^3.1`, `~1.2.x`, `1.0 - 1.5`. */
import { compareText } from '../../../core/text-order.ts'
import { define, type FunctionTable, refuse } from '../function.ts'
import { GoInt, Opaque, type V } from '../values.ts'

interface Version {
  readonly numbers: readonly [bigint, bigint, bigint]
  readonly pre: string
  readonly build: string
  readonly source: string
}

const tail = '(?:-([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*))?(?:\\+([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*))?'
const versionPattern = new RegExp(`^v?(\\d+)(?:\\.(\\d+))?(?:\\.(\\d+))?${tail}$`)
const part = '(\\d+|[xX*])'
const constraintVersion = `v?${part}(?:\\.${part})?(?:\\.${part})?${tail}`
const constraintPattern = new RegExp(`(=|!=|>=|=>|<=|=<|>|<|~>|~|\\^)?\\s*${constraintVersion}(?=$|[\\s,])`, 'y')
const rangePattern = /(\S+)\s+-\s+(\S+)/g
/** Longer texts are no versions. */
const MAX_LENGTH = 1000

function parseVersion(text: string): Version {
  const match = text.length <= MAX_LENGTH ? versionPattern.exec(text) : null
  if (match === null) return refuse('Invalid Semantic Version')
  const [, major = '0', minor = '0', patch = '0', pre = '', build = ''] = match
  if (pre.split('.').some((p) => /^0\d+$/.test(p))) refuse('Version segment starts with 0')
  return { numbers: [BigInt(major), BigInt(minor), BigInt(patch)], pre, build, source: text }
}

function comparePre(a: string, b: string): number {
  if (a === b) return 0
  if (a === '' || b === '') return a === '' ? 1 : -1
  const left = a.split('.')
  const right = b.split('.')
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const x = left[i]
    const y = right[i]
    if (x === y) continue
    if (x === undefined || y === undefined) return x === undefined ? -1 : 1
    const xNumber = /^\d+$/.test(x)
    const yNumber = /^\d+$/.test(y)
    if (xNumber && yNumber) return BigInt(x) < BigInt(y) ? -1 : 1
    // Numbers come before words.
    return xNumber !== yNumber ? (xNumber ? -1 : 1) : compareText(x, y)
  }
  return 0
}

function compare(a: Version, b: Version): number {
  for (let i = 0; i < 3; i++) {
    const x = a.numbers[i] as bigint
    const y = b.numbers[i] as bigint
    if (x !== y) return x < y ? -1 : 1
  }
  return comparePre(a.pre, b.pre)
}

interface Constraint {
  readonly operator: string
  readonly version: Version
  /** How many of major, minor, patch were given. */
  readonly given: number
}

function constraintOf(match: RegExpExecArray): Constraint {
  const [, operator = '', major = 'x', minor = 'x', patch = 'x', pre = ''] = match
  const parts = [major, minor, patch]
  const first = parts.findIndex((p) => !/^\d+$/.test(p))
  const given = first < 0 ? 3 : first
  const number = (i: number): bigint => (i < given ? BigInt(parts[i] as string) : 0n)
  return { operator, given, version: { numbers: [number(0), number(1), number(2)], pre, build: '', source: match[0] } }
}

/** Alternatives of constraints that must all hold. */
function parseConstraints(text: string): Constraint[][] {
  if (text.length > MAX_LENGTH) return refuse('improper constraint: too long')
  const simple = text.replace(rangePattern, '>= $1, <= $2')
  return simple.split('||').map((alternative) => {
    const constraints: Constraint[] = []
    const body = alternative.trim()
    constraintPattern.lastIndex = 0
    while (constraintPattern.lastIndex < body.length || body === '') {
      const match = constraintPattern.exec(body)
      if (match === null) return refuse(`improper constraint: ${alternative}`)
      constraints.push(constraintOf(match))
      const gap = /[\s,]*/y
      gap.lastIndex = match.index + match[0].length
      gap.exec(body)
      constraintPattern.lastIndex = gap.lastIndex
    }
    return constraints
  })
}

/** True when the first `count` numbers agree. */
const agree = (a: Version, b: Version, count: number): boolean =>
  a.numbers.slice(0, count).every((n, i) => n === b.numbers[i])

function holds(v: Version, { operator, version, given }: Constraint): boolean {
  // A pre-release fits only where the constraint names one.
  const hidden = v.pre !== '' && version.pre === ''
  if (operator === '!=') {
    if (given === 3) return compare(v, version) !== 0
    return !hidden && !agree(v, version, given)
  }
  if (hidden) return false
  const order = compare(v, version)
  switch (operator) {
    case '>':
      if (given === 3) return order > 0
      return given > 0 && order > 0 && !agree(v, version, given)
    case '<':
      return order < 0
    case '>=':
    case '=>':
      return order >= 0
    case '<=':
    case '=<':
      return order <= 0 || (given < 3 && agree(v, version, given))
    case '^': {
      if (order < 0) return false
      const firstSet = version.numbers.findIndex((n) => n > 0n)
      const fixed = firstSet < 0 ? given : Math.min(firstSet + 1, given)
      return agree(v, version, Math.max(fixed, given === 0 ? 0 : 1))
    }
    case '~':
    case '~>':
      return order >= 0 && tildeFits(v, version, given)
    default:
      return given === 3 ? order === 0 : order >= 0 && tildeFits(v, version, given)
  }
}

function tildeFits(v: Version, version: Version, given: number): boolean {
  // `~0.0.0` and `*` take every version.
  if (given === 0 || (given === 3 && version.numbers.every((n) => n === 0n))) return true
  return agree(v, version, Math.min(given, 2))
}

function versionText(v: Version): string {
  return `${v.numbers.join('.')}${v.pre && `-${v.pre}`}${v.build && `+${v.build}`}`
}

function versionValue(v: Version): Opaque {
  const number = (i: number) => (): V => new GoInt(v.numbers[i] as bigint, 'uint64')
  return new Opaque(
    '*semver.Version',
    versionText(v),
    new Map<string, () => V>([
      ['Major', number(0)],
      ['Minor', number(1)],
      ['Patch', number(2)],
      ['Prerelease', () => v.pre],
      ['Metadata', () => v.build],
      ['Original', () => v.source],
      ['String', () => versionText(v)],
    ]),
  )
}

export const semverFunctions: FunctionTable = {
  semver: define('string', ([text]) => versionValue(parseVersion(text))),
  semverCompare: define('string string', ([constraint, text]) => {
    const alternatives = parseConstraints(constraint)
    const version = parseVersion(text)
    return alternatives.some((all) => all.every((c) => holds(version, c)))
  }),
}
