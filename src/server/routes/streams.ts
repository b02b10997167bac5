/** Streams and tables (spec/rest-api.md 3.2), and pushing rows into a stream. */
import { IxionError, messageOf } from '../../core/errors.ts'
import type { Engine } from '../../engine/engine.ts'
import type { StreamKind } from '../../engine/streams.ts'
import { type Call, escapeHtml, isTrue, json, members, type Reply, text, textMember } from '../http.ts'
import type { Handler, Route } from '../router.ts'
import type { Services } from '../services.ts'
import { errorReply, framed, inFrame, WireError, wireCode } from '../wire-errors.ts'

export const streamRoutes: Route[] = [
  ...routesOf('stream', 'streams'),
  ['GET', '/streamdetails', async (_call, services) => json((await services.engine()).streamDetails('stream'))],
  ...routesOf('table', 'tables'),
  [
    'GET',
    '/tabledetails',
    async (call, services) => {
      const engine = await services.engine()
      const wanted = ofKind(engine, 'table', call.query.get('kind'))
      return json(engine.streamDetails('table').filter((d) => wanted.includes(d.name)))
    },
  ],
  ['POST', '/streams/{name}/data', pushRows],
]

function routesOf(kind: StreamKind, collection: string): Route[] {
  const word = kind === 'stream' ? 'Stream' : 'Table'
  const on =
    (work: (engine: Engine, call: Call) => Reply | Promise<Reply>): Handler =>
    async (call: Call, services: Services) => {
      const engine = await services.engine()
      const { name } = call.params
      if (name !== undefined) await inFrame('', () => engine.checkName(name), wireCode.undefined)
      return work(engine, call)
    }
  return [
    ['GET', `/${collection}`, on((engine, call) => json(ofKind(engine, kind, call.query.get('kind'))))],
    [
      'POST',
      `/${collection}`,
      on(async (engine, call) => {
        const sql = statementOf(call.body)
        const answer = await inFrame(`${word} command error`, () => engine.execute(sql), wireCode.stream)
        return text(escapeHtml(answer), 201)
      }),
    ],
    [
      'GET',
      `/${collection}/{name}`,
      on(async (engine, { params: { name = '' } }) =>
        json(await inFrame(`describe ${kind} error`, () => engine.definitionJson(name, kind), wireCode.stream)),
      ),
    ],
    [
      'PUT',
      `/${collection}/{name}`,
      on(async (engine, call) => {
        const sql = statementOf(call.body)
        try {
          return text(await engine.replaceStream(call.params['name'] as string, kind, sql))
        } catch (error) {
          const wrongKind = error instanceof IxionError && error.code === 'NOT_FOUND'
          throw framed(`${word} command error`, error, wrongKind ? wireCode.notFound : wireCode.stream)
        }
      }),
    ],
    [
      'DELETE',
      `/${collection}/{name}`,
      on(async (engine, call) => {
        const name = call.params['name'] as string
        const frame = `delete ${kind} error`
        const stored = engine.stream(name)
        if (!stored) throw new WireError(wireCode.notFound, `${frame}: ${kind} ${name} is not found`)
        const users = engine.rulesReading(name)
        if (kind === 'table' && stored.definition.options.kind === 'lookup' && users.length > 0) {
          throw new WireError(
            wireCode.stream,
            `${frame}: lookup table ${name} is still in use, stop all using rules before dropping it`,
          )
        }
        if (users.length > 0 && !isTrue(call.query.get('force'))) {
          throw new WireError(wireCode.undefined, `stream ${name} has been referenced by other rules`)
        }
        await inFrame(frame, () => engine.dropStream(name, kind), wireCode.stream)
        return text(`${word} ${name} is dropped.`)
      }),
    ],
    [
      'GET',
      `/${collection}/{name}/schema`,
      on(async (engine, { params: { name = '' } }) =>
        json(await inFrame(`get schema of ${kind} error`, () => engine.streamSchema(name, kind), wireCode.stream)),
      ),
    ],
  ]
}

function ofKind(engine: Engine, kind: StreamKind, wanted: string | null): string[] {
  return engine
    .listStreams(kind)
    .filter(({ definition }) => {
      if (kind === 'stream' || (wanted !== 'scan' && wanted !== 'lookup')) return true
      return (definition.options.kind === 'lookup') === (wanted === 'lookup')
    })
    .map((s) => s.definition.name)
}

function statementOf(body: Buffer): string {
  try {
    return textMember(members(body, 'model.StatementDescriptor'), 'sql')
  } catch (error) {
    throw framed('Invalid body: Error decoding the statement descriptor', error, wireCode.undefined)
  }
}

/**
 * One row, an array of rows, or lines of rows (`application/x-ndjson`): answers once every running rule on the stream has
 * accepted them. The text goes to the decoder as it came, so integers of any size survive.
 */
async function pushRows(call: Call, services: Services): Promise<Reply> {
  const engine = await services.engine()
  const name = call.params['name'] as string
  if (!engine.stream(name)) throw new WireError(wireCode.notFound, `stream ${name} is not found`)
  const lines = String(call.headers['content-type'] ?? '').startsWith('application/x-ndjson')
  try {
    const { accepted, rules } = await engine.push(name, call.body, lines, call.signal)
    return json({ accepted, rules })
  } catch (error) {
    const later = error instanceof IxionError && error.kind.retry
    if (!later) throw framed('', error)
    const reply = errorReply(new WireError(wireCode.undefined, messageOf(error), { status: 503 }))
    return { ...reply, headers: { ...reply.headers, 'Retry-After': '1' } }
  }
}
