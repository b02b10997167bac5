/** Named connections (spec/rest-api.md 3.10). */
import { IxionError } from '../../core/errors.ts'
import { isObject, type Value, type ValueObject } from '../../core/values.ts'
import type { Engine } from '../../engine/engine.ts'
import { type Call, json, members, type Reply, sortedKeys, text, textMember } from '../http.ts'
import type { Handler, Route } from '../router.ts'
import { framed, inFrame, wireCode } from '../wire-errors.ts'

const on =
  (work: (engine: Engine, id: string, call: Call) => Reply | Promise<Reply>): Handler =>
  async (call, services) =>
    work(await services.engine(), call.params['id'] ?? '', call)

export const connectionRoutes: Route[] = [
  [
    'GET',
    '/connections',
    on((engine, _id, call) => json(engine.connections.list(call.query.get('forceAll') === 'true').map(shown))),
  ],
  [
    'POST',
    '/connections',
    on(async (engine, _id, call) => {
      const given = read(call)
      await inFrame('', () => engine.checkName(given.id), wireCode.undefined)
      await inFrame('create connection failed', () => engine.connections.create(given), wireCode.undefined)
      return text('success', 201)
    }),
  ],
  [
    'GET',
    '/connections/{id}',
    on(async (engine, id) => json(shown(await inFrame('', () => engine.connections.get(id), wireCode.undefined)))),
  ],
  [
    'PUT',
    '/connections/{id}',
    on(async (engine, id, call) => {
      const given = { ...read(call), id }
      await inFrame('update connection failed', () => engine.connections.update(given), wireCode.undefined)
      return text('success')
    }),
  ],
  [
    'DELETE',
    '/connections/{id}',
    on(async (engine, id) => {
      await inFrame('drop connection failed', () => engine.connections.delete(id), wireCode.undefined)
      return text('success')
    }),
  ],
]

function shown<T extends { readonly props: ValueObject }>(report: T): T {
  return { ...report, props: sortedKeys(report.props) as ValueObject }
}

function read(call: Call): { id: string; typ: string; props: ValueObject } {
  try {
    const given = members(call.body)
    const props = (given.get('props') ?? {}) as Value
    if (!isObject(props)) throw new IxionError('INVALID_DOCUMENT', 'props must be an object')
    return { id: textMember(given, 'id'), typ: textMember(given, 'typ'), props }
  } catch (error) {
    throw framed('Invalid body', error, wireCode.undefined)
  }
}
