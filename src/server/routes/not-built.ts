/** Routes of the reference that this build does not have: they answer 501 and say so, or list nothing. */
import { json } from '../http.ts'
import type { Handler, Route } from '../router.ts'
import { inFrame, notBuilt, WireError, wireCode } from '../wire-errors.ts'

const missing =
  (what: string): Handler =>
  () =>
    notBuilt(what)

/** The identifier rule comes first. */
const missingNamed =
  (what: string): Handler =>
  async ({ params }, services) => {
    const engine = await services.engine()
    await inFrame('', () => engine.checkName(params['name'] ?? params['id'] ?? ''), wireCode.undefined)
    return notBuilt(what)
  }

function native(kind: 'sources' | 'sinks' | 'functions'): Route[] {
  const unknown: Handler = async ({ params, method }, services) => {
    const { name = '' } = params
    const engine = await services.engine()
    await inFrame('', () => engine.checkName(name), wireCode.undefined)
    const frame = method === 'DELETE' ? 'delete' : 'describe'
    const reason = method === 'DELETE' ? `invalid name ${name}: not exist` : 'not found'
    throw new WireError(wireCode.notFound, `${frame} ${kind} plugin ${name} error: ${reason}`)
  }
  const refuse: Handler = () => {
    throw new WireError(
      wireCode.undefined,
      `${kind} plugins create command error: native plugins are Go shared objects, which Ixion cannot load`,
    )
  }
  return [
    ['GET', `/plugins/${kind}/prebuild`, () => json({})],
    ['GET', `/plugins/${kind}`, () => json([])],
    ['POST', `/plugins/${kind}`, refuse],
    ['GET', `/plugins/${kind}/{name}`, unknown],
    ['PUT', `/plugins/${kind}/{name}`, refuse],
    ['DELETE', `/plugins/${kind}/{name}`, unknown],
  ]
}

export const notBuiltRoutes: Route[] = [
  ...native('sources'),
  ...native('sinks'),
  ...native('functions'),
  ['POST', '/plugins/functions/{name}/register', missing('Registering native functions')],
  ['GET', '/plugins/udfs', () => json([])],
  [
    'GET',
    '/plugins/udfs/{name}',
    ({ params }) => {
      throw new WireError(wireCode.notFound, `describe function ${params['name']} error: not found`)
    },
  ],
  ['GET', '/plugins/portables', missing('Portable plugins')],
  ['POST', '/plugins/portables', missing('Portable plugins')],
  ['*', '/plugins/portables/{name}', missing('Portable plugins')],
  ['GET', '/plugins/portables/{name}/status', missing('Portable plugins')],
  ['GET', '/udf/javascript', missing('JavaScript functions')],
  ['POST', '/udf/javascript', missing('JavaScript functions')],
  ['*', '/udf/javascript/{id}', missingNamed('JavaScript functions')],
  ['GET', '/services', missing('External services')],
  ['POST', '/services', missing('External services')],
  ['GET', '/services/functions', missing('External services')],
  ['GET', '/services/functions/{name}', missing('External services')],
  ['*', '/services/{name}', missingNamed('External services')],
  ['GET', '/trace/{id}', missing('Tracing')],
  ['GET', '/trace/rule/{ruleID}', missing('Tracing')],
  ['POST', '/tracer', missing('Tracing')],
]
