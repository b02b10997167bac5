/** The route table (spec/rest-api.md 1.2): whole segments, first match on path and method wins, compiled once. */
import type { Call, Reply } from './http.ts'
import type { Services } from './services.ts'

export type Handler = (call: Call, services: Services) => Reply | Promise<Reply>

/** `GET /rules/{name}`; `*` as method takes any. */
export type Route = readonly [method: string, template: string, handler: Handler]

interface Compiled {
  readonly method: string
  readonly segments: readonly string[]
  readonly handler: Handler
}

export type Match =
  | { readonly kind: 'found'; readonly handler: Handler; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: 'wrongMethod' }
  | { readonly kind: 'unknown' }

export type Router = (method: string, path: string) => Match

export function compileRoutes(routes: readonly Route[]): Router {
  /** By number of segments and first segment: all templates begin with a literal. */
  const index = new Map<string, Compiled[]>()
  for (const [method, template, handler] of routes) {
    const segments = template.split('/')
    const key = `${segments.length} ${segments[1]}`
    const list = index.get(key) ?? []
    list.push({ method, segments, handler })
    index.set(key, list)
  }
  return (method, path) => {
    const segments = path.split('/')
    let known = false
    for (const route of index.get(`${segments.length} ${segments[1]}`) ?? []) {
      if (!fits(route.segments, segments)) continue
      known = true
      if (route.method !== '*' && route.method !== method) continue
      return { kind: 'found', handler: route.handler, params: paramsOf(route.segments, segments) }
    }
    return known ? { kind: 'wrongMethod' } : { kind: 'unknown' }
  }
}

const isParam = (segment: string): boolean => segment.startsWith('{')

function fits(template: readonly string[], segments: readonly string[]): boolean {
  return template.every((t, i) => (isParam(t) ? segments[i] !== '' : t === segments[i]))
}

function paramsOf(template: readonly string[], segments: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {}
  template.forEach((t, i) => {
    if (isParam(t)) params[t.slice(1, -1)] = decode(segments[i] as string)
  })
  return params
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
