/** Trial runs (spec/rest-api.md 3.5). */
import type { Engine } from '../../engine/engine.ts'
import { type Call, json, type Reply, text } from '../http.ts'
import type { Handler, Route } from '../router.ts'
import { inFrame, wireCode } from '../wire-errors.ts'

const on =
  (work: (engine: Engine, name: string, call: Call) => Promise<Reply>): Handler =>
  async (call, services) =>
    work(await services.engine(), call.params['name'] ?? '', call)

export const trialRoutes: Route[] = [
  [
    'POST',
    '/ruletest',
    on(async (engine, _name, call) => {
      const id = await inFrame('', () => engine.trials.create(call.body.toString()), wireCode.undefined)
      return json({ id, port: await inFrame('', () => engine.trialEndpoints.open(id), wireCode.undefined) })
    }),
  ],
  [
    'POST',
    '/ruletest/{name}/start',
    on(async (engine, name) => {
      await inFrame('start rule error', () => engine.trials.start(name), wireCode.undefined)
      return text(`Test rule ${name} was started`)
    }),
  ],
  [
    'DELETE',
    '/ruletest/{name}',
    on(async (engine, name) => {
      await engine.trialEndpoints.close(name)
      await engine.trials.stop(name)
      return text(`Test rule ${name} was stopped.`)
    }),
  ],
]
