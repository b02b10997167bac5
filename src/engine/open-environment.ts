/** From an embedding program's options to what the parts of an engine share: store contents, connectors, functions. */
import { join } from 'node:path'
import { ConfigurationCatalog } from '../catalog/configuration.ts'
import { StreamCatalog } from '../catalog/definitions.ts'
import { SchemaRegistry } from '../catalog/schemas.ts'
import { connectors as builtinConnectors } from '../connectors/index.ts'
import { createResourcePool } from '../connectors/resource-pool.ts'
import { createTopicBus } from '../connectors/topic-bus.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { IxionError, messageOf } from '../core/errors.ts'
import type { FunctionLookup } from '../functions/contract.ts'
import { builtinFunctions } from '../functions/index.ts'
import type { StreamDefinition } from '../sql/ast.ts'
import { parseStatement } from '../sql/index.ts'
import type { Store } from '../stores/contract.ts'
import type { EngineEnvironment } from './environment.ts'
import { type LocationRules, readLocation } from './locations.ts'
import { LookupTables } from './lookup-tables.ts'
import { Patrol } from './patrol.ts'
import { type EngineOptions, silentLog } from './settings.ts'

export async function openEnvironment(
  options: EngineOptions,
  store: Store,
): Promise<{ environment: EngineEnvironment; configuration: ConfigurationCatalog }> {
  const log = options.log ?? silentLog
  const functions = functionLookup(options)
  const streams = await StreamCatalog.open(
    store,
    (sql) => definitionOf(sql, functions),
    (name, error) => log.error('a stored stream no longer parses', { stream: name, error: messageOf(error) }),
  )
  const configuration = await ConfigurationCatalog.open(store, {
    ...(options.etcDir !== undefined && { etcDir: options.etcDir }),
    ...(options.dataDir !== undefined && { dataDir: options.dataDir }),
    ...(options.environmentVariables && { environment: options.environmentVariables }),
    problem: (text) => log.warn(text),
  })
  const clock = options.clock ?? systemClock
  const environment: EngineEnvironment = {
    options: { ...options, configuration: options.configuration ?? configuration },
    clock,
    log,
    timezone: options.timezone ?? 'UTC',
    functions,
    connectors: new Map((options.connectors ?? builtinConnectors).map((c) => [c.name, c])),
    streams,
    schemas: await SchemaRegistry.open(store, {
      problem: (text) => log.warn(text),
      ...(options.dataDir !== undefined && { directory: join(options.dataDir, 'schemas') }),
      ...(options.etcDir !== undefined && { preinstalled: join(options.etcDir, 'schemas') }),
      fetchFile: (location) => readLocation(location, locationRules(options, clock)),
    }),
    resources: createResourcePool(),
    topics: createTopicBus(),
    lookups: new LookupTables(),
    checkpoints: store.table('checkpoints'),
    patrol: new Patrol(options.clock ?? systemClock, options.rulePatrolInterval),
    keyedState: new Map(),
  }
  return { environment, configuration }
}

/** Which locations a request may name. */
export function locationRules(options: EngineOptions, clock: Clock): LocationRules {
  return {
    clock,
    dataDir: options.dataDir ?? '.',
    allowExternalFiles: options.allowExternalFiles ?? true,
    allowPrivateNetwork: options.allowPrivateNetwork ?? true,
  }
}

function functionLookup(options: EngineOptions): FunctionLookup {
  const own = new Map(
    (options.functions ?? []).flatMap((f) => [f.name, ...(f.aliases ?? [])].map((n) => [n.toLowerCase(), f] as const)),
  )
  return own.size ? (name) => own.get(name.toLowerCase()) ?? builtinFunctions(name) : builtinFunctions
}

function definitionOf(sql: string, functions: FunctionLookup): StreamDefinition {
  const statement = parseStatement(sql, { functions })
  if (statement.kind !== 'createStream') throw new IxionError('SQL_SYNTAX', `not a CREATE statement: ${sql}`)
  return statement
}
