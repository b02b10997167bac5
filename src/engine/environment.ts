/** What the parts of one engine share. */

import type { StreamCatalog } from '../catalog/definitions.ts'
import type { SchemaRegistry } from '../catalog/schemas.ts'
import type { ConnectorContext, ConnectorDefinition, Logger } from '../connectors/contract.ts'
import type { SharedResources } from '../connectors/resource-pool.ts'
import type { TopicBus } from '../connectors/topic-bus.ts'
import type { Clock } from '../core/clock.ts'
import type { ValueObject } from '../core/values.ts'
import type { FunctionLookup } from '../functions/contract.ts'
import type { KeyValueStore } from '../stores/contract.ts'
import type { LookupTables } from './lookup-tables.ts'
import type { Patrol } from './patrol.ts'
import type { EngineOptions } from './settings.ts'

export interface EngineEnvironment {
  readonly options: EngineOptions
  readonly clock: Clock
  readonly log: Logger
  /** IANA zone; may change, and counts for rules that start afterwards. */
  timezone: string
  readonly functions: FunctionLookup
  readonly connectors: ReadonlyMap<string, ConnectorDefinition>
  readonly streams: StreamCatalog
  readonly schemas: SchemaRegistry
  readonly resources: SharedResources
  readonly topics: TopicBus
  readonly lookups: LookupTables
  /** State of rules with qos 1 and 2. */
  readonly checkpoints: KeyValueStore
  readonly patrol: Patrol
  /** Keyed state shared by all rules. */
  readonly keyedState: Map<string, ValueObject[string]>
}

export function connectorContext(
  environment: EngineEnvironment,
  owner: string,
  more: Partial<ConnectorContext> = {},
): ConnectorContext {
  const { options } = environment
  return {
    clock: environment.clock,
    log: environment.log,
    owner,
    dataDir: options.dataDir ?? '.',
    etcDir: options.etcDir ?? '.',
    topics: environment.topics,
    resources: environment.resources,
    ...(options.dataServer && { dataServer: options.dataServer }),
    ...(options.allowPrivateNetwork !== undefined && { allowPrivateNetwork: options.allowPrivateNetwork }),
    ...(options.defaultTls && { defaultTls: options.defaultTls }),
    ...(options.aesKey && { aesKey: options.aesKey }),
    ...more,
  }
}
