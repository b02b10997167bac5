/** Every route, in registration order (spec/rest-api.md 2). */
import { compileRoutes, type Router } from '../router.ts'
import type { ServerSettings } from '../services.ts'
import { connectionRoutes } from './connections.ts'
import { metadataRoutes } from './metadata.ts'
import { notBuiltRoutes } from './not-built.ts'
import { ruleRoutes } from './rules.ts'
import { schemaRoutes } from './schemas.ts'
import { streamRoutes } from './streams.ts'
import { systemRoutes } from './system.ts'
import { taskRoutes } from './tasks.ts'
import { transferRoutes } from './transfer.ts'
import { trialRoutes } from './trials.ts'

export function router(settings: ServerSettings): Router {
  return compileRoutes([
    ...systemRoutes(settings),
    ...streamRoutes,
    ...ruleRoutes,
    ...connectionRoutes,
    ...schemaRoutes,
    ...trialRoutes,
    ...notBuiltRoutes,
    ...metadataRoutes,
    ...transferRoutes,
    ...taskRoutes,
  ])
}
