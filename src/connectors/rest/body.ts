/** Request bodies by `bodyType` (spec/connectors.md 9.2, 10.2); shared by rest and httppull. */
import { randomUUID } from 'node:crypto'
import { IxionError } from '../../core/errors.ts'

const bodyTypes = ['none', 'text', 'json', 'html', 'xml', 'javascript', 'form', 'binary', 'formdata'] as const
export type BodyType = (typeof bodyTypes)[number]

const contentTypes: Readonly<Record<BodyType, string>> = {
  none: '',
  text: 'text/plain',
  json: 'application/json',
  html: 'text/html',
  xml: 'application/xml',
  javascript: 'application/javascript',
  form: 'application/x-www-form-urlencoded;param=value',
  binary: '',
  formdata: '',
}

const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD'] as const

/** Any case; throws `Not supported HTTP method X.` */
export function httpMethod(value: string): string {
  const method = value.toUpperCase()
  if ((methods as readonly string[]).includes(method)) return method
  throw new IxionError('INVALID_PROPERTY', `Not supported HTTP method ${value}.`, { path: 'method' })
}

/** Default by method; throws `Invalid body type value X.` */
export function bodyTypeOf(value: string | undefined, method: string): BodyType {
  if (!value) return method === 'GET' ? 'none' : 'json'
  const found = bodyTypes.find((type) => type === value.toLowerCase())
  if (found) return found
  throw new IxionError('INVALID_PROPERTY', `Invalid body type value ${value}.`, { path: 'bodyType' })
}

export interface HttpBody {
  readonly bytes: Uint8Array | null
  /** '' = no header. */
  readonly contentType: string
}

export interface FormParts {
  readonly fields: ReadonlyMap<string, string>
  /** Name of the file part that holds the payload. */
  readonly fileField: string
  /** Name of the file. */
  readonly fileName: string
}

export function httpBody(type: BodyType, payload: Uint8Array, form: FormParts): HttpBody {
  if (type === 'none') return { bytes: null, contentType: '' }
  if (type !== 'formdata') return { bytes: payload, contentType: contentTypes[type] }
  const boundary = `ixion-${randomUUID()}`
  const parts: Uint8Array[] = []
  const add = (text: string): void => void parts.push(Buffer.from(text))
  add(
    `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(form.fileField)}"; filename="${quoted(form.fileName)}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
  )
  parts.push(payload)
  for (const [name, value] of form.fields) {
    add(`\r\n--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"\r\n\r\n${value}`)
  }
  add(`\r\n--${boundary}--\r\n`)
  return { bytes: Buffer.concat(parts), contentType: `multipart/form-data; boundary=${boundary}` }
}

/** A name in a part header: no quote or line end may leave its place. */
function quoted(name: string): string {
  return name.replace(/\r/g, '%0D').replace(/\n/g, '%0A').replace(/"/g, '%22')
}
