/** URLs and paths of sprig. Paths are slash paths on every platform. */
import { decodeUtf8, encodeUtf8 } from '../../../core/utf8.ts'
import { define, type FunctionTable, refuse } from '../function.ts'
import { type Dict, kindName, member, type V } from '../values.ts'

/** Percent escapes to text. */
function percentDecoded(text: string): string {
  if (!text.includes('%')) return text
  const bytes: number[] = []
  const source = encodeUtf8(text)
  for (let i = 0; i < source.length; i++) {
    if (source[i] !== 37) {
      bytes.push(source[i] as number)
      continue
    }
    const digits = decodeUtf8(source.subarray(i + 1, i + 3))
    if (!/^[0-9a-fA-F]{2}$/.test(digits)) return refuse(`unable to parse url: invalid URL escape "%${digits}"`)
    bytes.push(Number.parseInt(digits, 16))
    i += 2
  }
  return decodeUtf8(new Uint8Array(bytes))
}

function percentEncoded(text: string, kept: RegExp): string {
  let out = ''
  for (const byte of encodeUtf8(text)) {
    const char = String.fromCharCode(byte)
    out += byte < 128 && kept.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return out
}

const pathKept = /[A-Za-z0-9\-_.~$&+,/:;=@]/
const fragmentKept = /[A-Za-z0-9\-_.~$&+,/:;=?@!()*]/
const userKept = /[A-Za-z0-9\-_.~$&+,;=]/

function parseUrl(text: string): Dict {
  if (/[\x00-\x1f\x7f]/.test(text)) refuse('unable to parse url: net/url: invalid control character in URL')
  const [beforeFragment = '', ...fragments] = text.split('#')
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(beforeFragment)?.[1] ?? ''
  if (scheme === '' && beforeFragment.startsWith(':')) refuse('unable to parse url: missing protocol scheme')
  let rest = scheme === '' ? beforeFragment : beforeFragment.slice(scheme.length + 1)
  const mark = rest.indexOf('?')
  const query = mark < 0 ? '' : rest.slice(mark + 1)
  if (mark >= 0) rest = rest.slice(0, mark)
  const opaque = scheme !== '' && rest !== '' && !rest.startsWith('/') ? rest : ''
  if (opaque !== '') rest = ''
  if (scheme === '' && (rest.split('/')[0] as string).includes(':')) {
    refuse('unable to parse url: first path segment in URL cannot contain colon')
  }
  let host = ''
  let userinfo = ''
  if (rest.startsWith('//')) {
    const slash = rest.indexOf('/', 2)
    const authority = rest.slice(2, slash < 0 ? undefined : slash)
    rest = slash < 0 ? '' : rest.slice(slash)
    const at = authority.lastIndexOf('@')
    userinfo = at < 0 ? '' : authority.slice(0, at)
    host = authority.slice(at + 1)
  }
  const bracket = /^\[([^\]]*)\]/.exec(host)
  return {
    scheme: scheme.toLowerCase(),
    host,
    hostname: bracket ? (bracket[1] as string) : (host.split(':')[0] as string),
    path: percentDecoded(rest),
    query,
    opaque,
    fragment: percentDecoded(fragments.join('#')),
    userinfo,
  }
}

function joinUrl(parts: Dict | undefined): string {
  const of = (key: string): string => {
    const value: V = parts && member(parts, key)
    if (value === undefined) return ''
    if (typeof value === 'string') return value
    return refuse(`unable to parse ${key} key, must be of type string, but ${kindName(value)} found`)
  }
  const scheme = of('scheme')
  const host = of('host')
  const userinfo = of('userinfo')
  const opaque = of('opaque')
  let out = scheme === '' ? '' : `${scheme}:`
  if (opaque !== '') out += opaque
  else {
    if (scheme !== '' || host !== '' || userinfo !== '') {
      if (host !== '' || of('path') !== '' || userinfo !== '') out += '//'
      if (userinfo !== '') {
        const colon = userinfo.indexOf(':')
        const name = percentEncoded(percentDecoded(colon < 0 ? userinfo : userinfo.slice(0, colon)), userKept)
        out += `${name}${colon < 0 ? '' : `:${percentEncoded(percentDecoded(userinfo.slice(colon + 1)), userKept)}`}@`
      }
      out += host
    }
    const path = percentEncoded(of('path'), pathKept)
    if (path !== '' && !path.startsWith('/') && host !== '') out += '/'
    // A colon in the first segment would read as a scheme.
    if (out === '' && (path.split('/')[0] as string).includes(':')) out += './'
    out += path
  }
  const query = of('query')
  const fragment = of('fragment')
  return `${out}${query === '' ? '' : `?${query}`}${fragment === '' ? '' : `#${percentEncoded(fragment, fragmentKept)}`}`
}

function clean(path: string): string {
  const rooted = path.startsWith('/')
  const kept: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment !== '..') kept.push(segment)
    else if (kept.length > 0 && kept.at(-1) !== '..') kept.pop()
    else if (!rooted) kept.push('..')
  }
  return `${rooted ? '/' : ''}${kept.join('/')}` || '.'
}

function base(path: string): string {
  if (path === '') return '.'
  const trimmed = path.replace(/\/+$/, '')
  return trimmed === '' ? '/' : trimmed.slice(trimmed.lastIndexOf('/') + 1)
}

const extension = (path: string): string => /\.[^./]*$/.exec(path)?.[0] ?? ''
const directory = (path: string): string => clean(path.slice(0, path.lastIndexOf('/') + 1))

const paths = {
  Base: define('string', ([path]) => base(path)),
  Clean: define('string', ([path]) => clean(path)),
  Dir: define('string', ([path]) => directory(path)),
  Ext: define('string', ([path]) => extension(path)),
  IsAbs: define('string', ([path]) => path.startsWith('/')),
}

export const placeFunctions: FunctionTable = {
  base: paths.Base,
  clean: paths.Clean,
  dir: paths.Dir,
  ext: paths.Ext,
  isAbs: paths.IsAbs,
  osBase: paths.Base,
  osClean: paths.Clean,
  osDir: paths.Dir,
  osExt: paths.Ext,
  osIsAbs: paths.IsAbs,
  urlJoin: define('dict', ([parts]) => joinUrl(parts)),
  urlParse: define('string', ([text]) => parseUrl(text)),
}
