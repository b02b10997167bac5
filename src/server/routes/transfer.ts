/** Import, export and uploads (spec/rest-api.md 3.7 to 3.9). */
import { messageOf } from '../../core/errors.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Configuration } from '../../engine/transfer.ts'
import {
  type Call,
  escapeHtml,
  json,
  jsonText,
  type Members,
  members,
  parseJson,
  type Reply,
  text,
  textMember,
} from '../http.ts'
import type { Handler, Route } from '../router.ts'
import type { Services } from '../services.ts'
import { framed, inFrame, WireError, wireCode } from '../wire-errors.ts'

/** Loaded with the first request that needs it: it brings the engine's code along. */
const load = () => import('../../engine/transfer.ts')
const loadYaml = () => import('../../engine/transfer-yaml.ts')
type Transfer = Awaited<ReturnType<typeof load>>

const on =
  (work: (engine: Engine, call: Call, transfer: Transfer) => Reply | Promise<Reply>): Handler =>
  async (call, services) =>
    work(await services.engine(), call, await load())

/** Errors of the last full import; what `GET /data/import/status` shows. */
const lastImport = new WeakMap<Engine, Configuration>()

export const transferRoutes: Route[] = [
  [
    'POST',
    '/ruleset/export',
    on((engine, call, transfer) => attachment(call, jsonText(transfer.exportRuleSet(engine)))),
  ],
  ['POST', '/ruleset/import', on(importRuleSet)],
  [
    'GET',
    '/data/export',
    on(async (engine, call, transfer) => attachment(call, jsonText(await transfer.exportConfiguration(engine)))),
  ],
  [
    'POST',
    '/data/export',
    on(async (engine, call, transfer) => attachment(call, jsonText(await transfer.exportRules(engine, idsIn(call))))),
  ],
  ['POST', '/data/import', async (call, services) => json(await importAnswer(call, services))],
  [
    'GET',
    '/data/import/status',
    on((engine, _call, transfer) => json(lastImport.get(engine) ?? transfer.emptyConfiguration())),
  ],
  ['GET', '/v2/data/export', on(async (engine, call) => attachment(call, await (await loadYaml()).exportYaml(engine)))],
  [
    'POST',
    '/v2/data/import',
    on(async (engine, call) => {
      const content = await contentOf(engine, call, '', 'Fail to read file')
      const { importYaml } = await loadYaml()
      await inFrame('import failed', () => importYaml(engine, content), wireCode.undefined)
      return text('success')
    }),
  ],
  ['GET', '/config/uploads', on(async (engine) => json(await engine.uploads.list()))],
  ['POST', '/config/uploads', on(upload)],
  [
    'DELETE',
    '/config/uploads/{name}',
    on(async (engine, { params: { name = '' } }) => {
      await inFrame('Error deleting the file', () => engine.uploads.delete(name), wireCode.undefined)
      return text('ok')
    }),
  ],
]

/** With one range of bytes when asked for. */
function attachment(call: Call, content: string): Reply {
  const headers = { 'Content-Disposition': 'Attachment', 'Accept-Ranges': 'bytes' }
  const type = 'application/octet-stream'
  const bytes = Buffer.from(content)
  const range = /^bytes=(\d*)-(\d*)$/.exec(String(call.headers['range'] ?? ''))
  if (!range || (range[1] === '' && range[2] === '')) return { status: 200, body: bytes, type, headers }
  const from = range[1] === '' ? Math.max(0, bytes.length - Number(range[2])) : Number(range[1])
  const to = range[1] === '' || range[2] === '' ? bytes.length - 1 : Math.min(Number(range[2]), bytes.length - 1)
  if (from > to) return { status: 416, headers: { 'Content-Range': `bytes */${bytes.length}` } }
  return {
    status: 206,
    body: bytes.subarray(from, to + 1),
    type,
    headers: { ...headers, 'Content-Range': `bytes ${from}-${to}/${bytes.length}` },
  }
}

function idsIn(call: Call): string[] {
  try {
    const ids = parseJson(call.body)
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : []
  } catch {
    return []
  }
}

/** `content` or what `file` names. `suffix` ends the texts of wrong combinations, as the two routes differ there. */
async function contentOf(engine: Engine, call: Call, suffix: string, fileFrame: string): Promise<string> {
  let given: Members
  let content: string
  let file: string
  try {
    given = members(call.body)
    content = textMember(given, 'content')
    file = textMember(given, 'file')
  } catch (error) {
    throw framed('Invalid body: Error decoding json', error, wireCode.undefined)
  }
  const wrong = (message: string): WireError => new WireError(wireCode.undefined, `Invalid body: ${message}${suffix}`)
  if (content !== '' && file !== '') throw wrong('Cannot specify both content and file')
  if (content === '' && file === '') throw wrong('must specify content or file')
  if (content !== '') return content
  return new TextDecoder().decode(await inFrame(fileFrame, () => engine.readLocation(file), wireCode.undefined))
}

async function importRuleSet(engine: Engine, call: Call, transfer: Transfer): Promise<Reply> {
  const content = await contentOf(engine, call, ': bad request', 'Fail to read file')
  const counts = await inFrame(
    'Import ruleset error',
    () => transfer.importRuleSet(engine, content),
    wireCode.undefined,
  )
  return text(`imported ${counts.streams} streams, ${counts.tables} tables and ${counts.rules} rules`)
}

/** Imports the document of a request; fails with the errors by section when an item does. */
export async function importAnswer(
  call: Call,
  services: Services,
): Promise<{ readonly ErrorMsg: string; readonly ConfigResponse: Configuration }> {
  const [engine, transfer] = [await services.engine(), await load()]
  const partial = call.query.get('partial') === '1'
  const stop = call.query.get('stop') === '1'
  const content = await contentOf(engine, call, '', 'Fail to read file')
  const document = await inFrame('', () => transfer.readConfiguration(content), wireCode.undefined)
  const errors = await transfer.importConfiguration(engine, document, { partial, stop })
  if (!partial) lastImport.set(engine, errors)
  if (transfer.hasErrors(errors)) throw new WireError(wireCode.undefined, jsonText(errors))
  // As eKuiper: a process manager starts the engine again.
  if (stop && !partial) services.stop(100)
  return { ErrorMsg: '', ConfigResponse: errors }
}

async function upload(engine: Engine, call: Call): Promise<Reply> {
  if (call.headers['content-type'] === 'application/json') return uploadJson(engine, call)
  const contentType = String(call.headers['content-type'] ?? '')
  let form: FormData
  try {
    form = await new Response(new Uint8Array(call.body), { headers: { 'content-type': contentType } }).formData()
  } catch (error) {
    throw new WireError(wireCode.undefined, `Error parse the multi part form: ${messageOf(error)}`)
  }
  const file = form.get('uploadFile')
  if (file === null || typeof file === 'string') {
    throw new WireError(wireCode.undefined, 'Error Retrieving the File: http: no such file')
  }
  const content = new Uint8Array(await file.arrayBuffer())
  const path = await inFrame(
    'Error saving the file',
    () => engine.uploads.write(file.name, content, null),
    wireCode.undefined,
  )
  return text(escapeHtml(path), 201)
}

async function uploadJson(engine: Engine, call: Call): Promise<Reply> {
  let name: string
  let content: string
  let file: string
  let hasContent: boolean
  try {
    const given = members(call.body)
    name = textMember(given, 'name')
    content = textMember(given, 'content')
    file = textMember(given, 'file')
    hasContent = content !== ''
  } catch (error) {
    throw framed('Invalid body: Error decoding file json', error, wireCode.undefined)
  }
  const missing = (message: string): WireError =>
    new WireError(wireCode.undefined, `Invalid body: missing necessary field: invalid body: ${message}`)
  if (!hasContent && file === '') throw missing('content or FilePath is required')
  if (name === '') throw missing('name is required')
  const bytes =
    file !== ''
      ? await inFrame('Upload error: getFile has error', () => engine.readLocation(file), wireCode.undefined)
      : Buffer.from(content)
  const record = JSON.stringify(file !== '' ? { name, file } : { name, content })
  const path = await inFrame(
    'Upload error: getFile has error',
    () => engine.uploads.write(name, bytes, record),
    wireCode.undefined,
  )
  return text(escapeHtml(path), 201)
}
