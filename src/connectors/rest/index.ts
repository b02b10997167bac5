/** REST: results to HTTP services (spec/connectors.md 10.2). */
import { isObject } from '../../core/values.ts'
import type { ConnectorDefinition } from '../contract.ts'
import { oauthOption } from '../oauth.ts'
import { map } from '../properties.ts'
import { tlsOptions } from '../tls.ts'
import { createRestSink } from './sink.ts'

export const rest: ConnectorDefinition = {
  name: 'rest',
  sink: {
    name: 'rest',
    docs: 'Sends each result to an HTTP service. A status from 200 to 299 is success; 408, 429, 502, 503, 504 and network failures may be tried again, other answers drop the result.',
    takes: 'bytes',
    options: {
      url: {
        type: 'string',
        default: 'http://localhost',
        dynamic: true,
        docs: 'Address of the service; may be a template.',
      },
      method: {
        type: 'string',
        default: 'GET',
        dynamic: true,
        docs: 'HTTP method: GET, POST, PUT, PATCH, DELETE or HEAD.',
      },
      bodyType: {
        type: 'string',
        dynamic: true,
        docs: 'Kind of body: none (default for GET), json (default), text, html, xml, javascript, form, binary or formdata.',
      },
      format: { type: 'string', default: 'json', docs: 'Format of the results; urlencoded for bodyType form.' },
      headers: {
        type: 'map',
        dynamic: true,
        docs: 'Request headers; values may be templates, with oauth over the token.',
      },
      formData: { type: 'map', dynamic: true, docs: 'Further fields of a formdata body; values may be templates.' },
      fileFieldName: {
        type: 'string',
        default: '',
        docs: 'Name of the file part that holds the result in a formdata body.',
      },
      timeout: { type: 'duration', default: 5000, docs: 'Time for the whole request; 0 = no limit.' },
      responseType: {
        type: 'string',
        default: 'code',
        docs: 'What tells success: code (the HTTP status) or, together with debugResp, body (a `code` member from 200 to 299).',
      },
      debugResp: { type: 'bool', default: false, docs: 'Write the answers to the log.' },
      oauth: oauthOption,
      compression: {
        type: 'string',
        default: '',
        docs: 'Compression of the body; gzip and zstd are announced in Content-Encoding.',
      },
      ...tlsOptions,
    },
    ownTemplates: (properties) => (isObject(map(properties, 'oauth')?.['access']) ? ['oauth', 'headers'] : ['oauth']),
    create: createRestSink,
  },
}
