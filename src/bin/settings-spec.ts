/** `kuiper.yaml` described as data, and read by that description (spec/rest-api.md 11.1, 11.2). */

import { applyEnvironment, readYamlFile } from '../catalog/etc-files.ts'
import { ruleOptionSpecs } from '../catalog/rule-options.ts'
import { IxionError, messageOf } from '../core/errors.ts'
import type { OptionSpec, OptionSpecs } from '../core/options.ts'
import { validateOptions } from '../core/validate.ts'
import { isObject, type ValueObject } from '../core/values.ts'
import { commonSinkSpecs } from '../engine/sink-options.ts'
import { defaultSettings, type Settings } from './settings.ts'

const { basic, source } = defaultSettings

const tls: OptionSpec = {
  type: 'map',
  docs: 'Serves HTTPS with this certificate.',
  members: {
    certfile: { type: 'string', docs: 'Certificate file (PEM).' },
    keyfile: { type: 'string', docs: 'Private key file (PEM).' },
  },
}

export const basicSpecs: OptionSpecs = {
  logLevel: {
    type: 'string',
    default: basic.logLevel,
    oneOf: ['debug', 'info', 'warn', 'error', 'fatal', 'panic'],
    docs: 'Least severe level that is logged.',
  },
  debug: { type: 'bool', default: basic.debug, docs: 'Forces the level debug.' },
  consoleLog: { type: 'bool', default: basic.consoleLog, docs: 'Logs to the standard error output.' },
  fileLog: { type: 'bool', default: basic.fileLog, docs: 'Logs to stream.log in the log folder, rotated.' },
  logFormat: { type: 'string', default: basic.logFormat, oneOf: ['text', 'json'], docs: 'Form of a log line.' },
  rotateSize: {
    type: 'size',
    default: basic.rotateSize,
    minimum: 4096,
    docs: 'Size at which the log file is rotated.',
  },
  rotateCount: { type: 'int', default: basic.rotateCount, minimum: 1, maximum: 1000, docs: 'Old log files kept.' },
  timezone: {
    type: 'string',
    default: basic.timezone,
    docs: 'IANA zone of windows and time functions; Local = that of the machine.',
  },
  restIp: {
    type: 'string',
    default: basic.restIp,
    docs: 'Address of the REST server. The default serves this machine only.',
  },
  restPort: {
    type: 'int',
    default: basic.restPort,
    minimum: 0,
    maximum: 65535,
    docs: 'Port of the REST server; 0 = any free one.',
  },
  restTls: tls,
  maxBodyBytes: {
    type: 'size',
    default: basic.maxBodyBytes,
    minimum: 1024,
    docs: 'Largest request body of the REST server.',
  },
  authentication: {
    type: 'bool',
    default: basic.authentication,
    docs: 'REST needs a signed token; public keys lie in etc/mgmt.',
  },
  prometheus: { type: 'bool', default: basic.prometheus, docs: 'Serves metrics.' },
  prometheusPort: {
    type: 'int',
    default: basic.prometheusPort,
    minimum: 1,
    maximum: 65535,
    docs: 'Port of the metrics; may equal restPort.',
  },
  ignoreCase: { type: 'bool', default: basic.ignoreCase, docs: 'Column names in SQL match without regard to case.' },
  aesKey: {
    type: 'string',
    default: basic.aesKey,
    secret: true,
    docs: 'Base64 of 16, 24 or 32 bytes for the encryption aes.',
  },
  gracefulShutdownTimeout: {
    type: 'duration',
    default: basic.gracefulShutdownTimeout,
    minimum: 0,
    docs: 'Longest time accepted rows may take to drain at the end.',
  },
  enableRestAuditLog: { type: 'bool', default: basic.enableRestAuditLog, docs: 'Logs every REST request.' },
  enablePrivateNet: {
    type: 'bool',
    default: basic.enablePrivateNet,
    docs: 'Outgoing HTTP may reach private and loopback addresses.',
  },
  allowExternalFileAccess: {
    type: 'bool',
    default: basic.allowExternalFileAccess,
    docs: 'file:// in requests may leave data/uploads.',
  },
  embeddedBroker: {
    type: 'bool',
    default: basic.embeddedBroker,
    docs: 'Runs an MQTT 3.1.1 broker inside the daemon, for trying out and tests: on 127.0.0.1, without passwords, nothing is kept.',
  },
  embeddedBrokerPort: {
    type: 'int',
    default: basic.embeddedBrokerPort,
    minimum: 0,
    maximum: 65535,
    docs: 'Port of the embedded broker; 0 = any free one.',
  },
}

export const sourceSpecs: OptionSpecs = {
  httpServerIp: {
    type: 'string',
    default: source.httpServerIp,
    docs: 'Address of the data server (httppush, websocket, sse).',
  },
  httpServerPort: { type: 'int', default: source.httpServerPort, docs: 'Port of the data server.' },
  httpServerTls: tls,
}

export const securitySpecs: OptionSpecs = {
  tls: { type: 'map', docs: 'Target of tls: "default".' },
  encryption: { type: 'map', docs: 'Target of encryption: "default".' },
}

export const ruleDefaults = [
  'isEventTime',
  'lateTolerance',
  'concurrency',
  'bufferLength',
  'sendMetaToSink',
  'sendError',
  'qos',
  'checkpointInterval',
  'restartStrategy',
]
export const sinkDefaults = [
  'enableCache',
  'memoryCacheThreshold',
  'maxDiskCache',
  'bufferPageSize',
  'resendInterval',
  'cleanCacheAtStop',
  'resendAlterQueue',
  'resendPriority',
  'resendIndicatorField',
  'resendDestination',
]

/** Throws INVALID_PROPERTY that names file, key and fix. */
export async function readSettings(
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Settings> {
  const tree = applyEnvironment(await readYamlFile(file), 'KUIPER', environment)
  const section = (name: string): ValueObject => {
    const key = Object.keys(tree).find((k) => k.toLowerCase() === name)
    const value = key === undefined ? null : (tree[key] ?? null)
    if (value === null) return {}
    if (isObject(value)) return value
    throw new IxionError('INVALID_PROPERTY', `${file}: ${name} must hold keys and values`, { path: name })
  }
  const unread: string[] = []
  const read = (name: string, specs: OptionSpecs): ValueObject => {
    const known = new Set(Object.keys(specs).map((k) => k.toLowerCase()))
    for (const key of Object.keys(section(name))) if (!known.has(key.toLowerCase())) unread.push(`${name}.${key}`)
    try {
      return validateOptions(specs, section(name), name, { unknown: 'drop' })
    } catch (error) {
      throw new IxionError('INVALID_PROPERTY', `${file}, section ${name}: ${messageOf(error)}`, {
        path: name,
        ...(error instanceof IxionError && error.hint !== undefined && { hint: error.hint }),
        cause: error,
      })
    }
  }
  const settings = {
    basic: read('basic', basicSpecs),
    rule: read('rule', given(section('rule'), pick(ruleOptionSpecs, ruleDefaults))),
    sink: correctSink(read('sink', given(section('sink'), pick(commonSinkSpecs, sinkDefaults)))),
    source: read('source', sourceSpecs),
    security: read('security', securitySpecs),
    unread,
  } as unknown as Settings
  const sections = new Set(['basic', 'rule', 'sink', 'source', 'security'])
  unread.push(...Object.keys(tree).filter((k) => !sections.has(k.toLowerCase())))
  return checkTls(file, checkKey(file, portOrDefault(settings)))
}

function pick(specs: OptionSpecs, names: readonly string[]): OptionSpecs {
  return Object.fromEntries(names.flatMap((n) => (specs[n] ? [[n, specs[n]]] : [])))
}

/** Only the properties that are given: the rest keeps the engine's own defaults. */
function given(section: ValueObject, specs: OptionSpecs): OptionSpecs {
  const names = new Set(Object.keys(section).map((k) => k.toLowerCase()))
  return Object.fromEntries(Object.entries(specs).filter(([n]) => names.has(n.toLowerCase())))
}

/** Cache defaults are corrected, never refused, as in the reference. */
function correctSink(sink: ValueObject): ValueObject {
  const number = (name: string): number | undefined => {
    const value = sink[name]
    return typeof value === 'number' ? value : undefined
  }
  const defaultOf = (name: string): number => commonSinkSpecs[name]?.default as number
  const page = number('bufferPageSize')
  const size = page === undefined || page <= 0 ? defaultOf('bufferPageSize') : page
  if (page !== undefined) sink['bufferPageSize'] = size
  for (const name of ['memoryCacheThreshold', 'maxDiskCache']) {
    const value = number(name)
    // A page size alone must fit the defaults, too.
    if (value === undefined && page === undefined) continue
    const wanted = value === undefined || value < 0 ? defaultOf(name) : value
    sink[name] = Math.max(1, Math.ceil(wanted / size)) * size
  }
  const interval = number('resendInterval')
  if (interval !== undefined && interval < 0) delete sink['resendInterval']
  const priority = number('resendPriority')
  if (priority !== undefined && ![-1, 0, 1].includes(priority)) sink['resendPriority'] = 0
  return sink
}

function portOrDefault(settings: Settings): Settings {
  const { httpServerPort } = settings.source
  if (httpServerPort >= 1 && httpServerPort <= 65535) return settings
  return { ...settings, source: { ...settings.source, httpServerPort: source.httpServerPort } }
}

function checkKey(file: string, settings: Settings): Settings {
  const { aesKey } = settings.basic
  const length = Buffer.from(aesKey, 'base64').length
  if (aesKey !== '' && ![16, 24, 32].includes(length)) {
    throw new IxionError(
      'INVALID_PROPERTY',
      `${file}: basic.aesKey must be base64 of 16, 24 or 32 bytes, got ${length}`,
      {
        path: 'basic.aesKey',
      },
    )
  }
  return settings
}

function checkTls(file: string, settings: Settings): Settings {
  const check = (name: string, value: Settings['basic']['restTls']): void => {
    if (value && (!value.certfile || !value.keyfile)) {
      throw new IxionError('INVALID_PROPERTY', `${file}: ${name} needs both certfile and keyfile`, { path: name })
    }
  }
  check('basic.restTls', settings.basic.restTls)
  check('source.httpServerTls', settings.source.httpServerTls)
  return settings
}
