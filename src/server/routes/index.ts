/** Every route, in registration order (spec/rest-api.md 2). */
import { compileRoutes, type Router } from '../router.ts'
import type { ServerSettings } from '../services.ts'
import { ruleRoutes } from './rules.ts'
import { streamRoutes } from './streams.ts'
import { systemRoutes } from './system.ts'

export function router(settings: ServerSettings): Router {
  return compileRoutes([...systemRoutes(settings), ...streamRoutes, ...ruleRoutes])
}
