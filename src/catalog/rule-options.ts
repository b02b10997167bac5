/** Rule options (spec/rest-api.md 4.2) described as data; `GET /metadata` and the docs page read the same description. */
import type { OptionSpecs } from '../core/options.ts'

export const ruleOptionSpecs: OptionSpecs = {
  debug: { type: 'bool', default: false, docs: 'Accepted for compatibility.' },
  logFilename: { type: 'string', default: '', docs: 'Accepted for compatibility.' },
  isEventTime: { type: 'bool', default: false, docs: 'Windows follow the TIMESTAMP column instead of the clock.' },
  lateTolerance: { type: 'duration', default: 1000, docs: 'How far behind the newest event one may be (event time).' },
  concurrency: { type: 'int', default: 1, docs: 'Accepted for compatibility; order is always kept.' },
  bufferLength: { type: 'int', default: 1024, unit: 'events', docs: 'Events that may wait in front of the rule.' },
  bufferBytes: {
    type: 'size',
    default: 8 * 1024 * 1024,
    minimum: 1024,
    docs: 'Bytes that may wait in front of the rule and of each sink.',
  },
  sendMetaToSink: { type: 'bool', default: false, docs: 'Adds the metadata of the event to the result as `__meta`.' },
  sendNilField: { type: 'bool', default: false, docs: 'Selected columns that are missing are sent as null.' },
  sendError: { type: 'bool', default: false, docs: 'Errors of rows are sent to the sinks.' },
  qos: { type: 'int', default: 0, minimum: 0, maximum: 2, docs: '0 at most once, 1 at least once, 2 exactly once.' },
  checkpointInterval: {
    type: 'duration',
    default: 300_000,
    minimum: 1,
    docs: 'Time between checkpoints (qos 1 and 2).',
  },
  restartStrategy: {
    type: 'map',
    docs: 'Automatic restart after an error.',
    members: {
      attempts: { type: 'int', default: 0, docs: 'Above 0: restart after an error.' },
      delay: { type: 'duration', default: 1000, docs: 'First pause before a restart.' },
      multiplier: { type: 'float', default: 2, docs: 'Growth of the pause.' },
      maxDelay: { type: 'duration', default: 30_000, docs: 'Longest pause.' },
      jitter: { type: 'float', default: 0.1, aliases: ['jitterFactor'], docs: 'Random part of the pause.' },
    },
  },
  cron: { type: 'string', default: '', docs: 'Five-field cron text or `@every 1h`; with duration.' },
  duration: { type: 'string', default: '', docs: 'How long the rule runs once started.' },
  cronDatetimeRange: { type: 'list', default: [], docs: 'Ranges of time in which the rule may run.' },
  planOptimizeStrategy: {
    type: 'map',
    docs: 'Planner switches.',
    members: {
      enableIncrementalWindow: { type: 'bool', default: false, docs: 'Shows incremental windows in the plan.' },
      enableAliasPushdown: { type: 'bool', default: false, docs: 'Renames columns while decoding.' },
      disableAliasRefCal: { type: 'bool', default: false, docs: 'Names always mean columns, never aliases.' },
      optimizeControl: {
        type: 'map',
        docs: 'Optimizer rules.',
        members: { disableOptimizeRules: { type: 'list', element: 'string', default: [], docs: 'Rules to skip.' } },
      },
      windowOption: {
        type: 'map',
        docs: 'Window variants.',
        members: {
          windowVersion: { type: 'string', default: '', docs: '`v2`: half-open sliding windows.' },
          enableSendSlidingWindowTwice: {
            type: 'bool',
            default: false,
            docs: 'A delayed sliding window also emits at arrival.',
          },
        },
      },
    },
  },
  notifySub: { type: 'bool', default: false, docs: 'Accepted for compatibility.' },
  disableBufferFullDiscard: {
    type: 'bool',
    default: false,
    docs: 'Hold the source back instead of dropping when a buffer is full.',
  },
  enableSaveStateBeforeStop: { type: 'bool', default: false, docs: 'One more checkpoint on stop (qos 1 and 2).' },
  forceExitTimeout: { type: 'duration', default: 0, docs: 'Accepted for compatibility.' },
  windowLimit: { type: 'int', default: 1_000_000, minimum: 1, unit: 'rows', docs: 'Rows a window may hold.' },
  windowBytes: { type: 'size', default: 256 * 1024 * 1024, minimum: 1024, docs: 'Bytes a window may hold (estimate).' },
  groupLimit: { type: 'int', default: 1_000_000, minimum: 1, docs: 'Groups a window may have.' },
  partitionLimit: {
    type: 'int',
    default: 1_000_000,
    minimum: 1,
    docs: 'Partitions of an analytic function or state window.',
  },
  limitPolicy: {
    type: 'string',
    default: 'dropOldest',
    oneOf: ['dropOldest', 'fail'],
    docs: 'At a window or group limit: drop and count, or stop the rule with the reason.',
  },
  keyedTables: {
    type: 'bool',
    default: false,
    docs: 'A scan table with KEY keeps the newest row of each key instead of the newest rows.',
  },
  experiment: {
    type: 'map',
    docs: 'Experiments.',
    members: {
      useSliceTuple: { type: 'bool', default: false, docs: 'Accepted; the columnar lane does this by itself.' },
    },
  },
}

export interface RuleOptions {
  readonly debug: boolean
  readonly isEventTime: boolean
  /** ms */
  readonly lateTolerance: number
  readonly bufferLength: number
  readonly bufferBytes: number
  readonly sendMetaToSink: boolean
  readonly sendNilField: boolean
  readonly sendError: boolean
  readonly qos: number
  /** ms */
  readonly checkpointInterval: number
  readonly restartStrategy: {
    readonly attempts: number
    readonly delay: number
    readonly multiplier: number
    readonly maxDelay: number
    readonly jitter: number
  }
  readonly cron: string
  readonly duration: string
  readonly cronDatetimeRange: readonly {
    begin?: string
    end?: string
    beginTimestamp?: number
    endTimestamp?: number
  }[]
  readonly planOptimizeStrategy: {
    readonly enableIncrementalWindow: boolean
    readonly enableAliasPushdown: boolean
    readonly disableAliasRefCal: boolean
    readonly optimizeControl: { readonly disableOptimizeRules: readonly string[] }
    readonly windowOption: { readonly windowVersion: string; readonly enableSendSlidingWindowTwice: boolean }
  }
  readonly disableBufferFullDiscard: boolean
  readonly enableSaveStateBeforeStop: boolean
  readonly windowLimit: number
  readonly windowBytes: number
  readonly groupLimit: number
  readonly partitionLimit: number
  readonly limitPolicy: 'dropOldest' | 'fail'
  readonly keyedTables: boolean
  readonly experiment: { readonly useSliceTuple: boolean }
}
