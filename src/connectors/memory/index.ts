/** In-process topics: rules feed rules, and lookup tables, without leaving the engine (spec/connectors.md 9.5, 10.4, 11.4). */
import type { ConnectorDefinition } from '../contract.ts'
import { createMemoryLookup } from './lookup.ts'
import { createMemorySink } from './sink.ts'
import { createMemorySource } from './source.ts'

export const memory: ConnectorDefinition = {
  name: 'memory',
  source: {
    name: 'memory',
    docs: 'Reads rows published by memory sinks of the same engine. DATASOURCE is the topic; + stands for one level, a final # for all that follows. The publisher waits while this stream has no room.',
    emits: 'rows',
    pausable: true,
    bounded: false,
    options: {
      bufferLength: {
        type: 'int',
        default: 1024,
        minimum: 1,
        docs: 'Accepted for compatibility; the publisher waits instead of filling a queue.',
      },
    },
    create: createMemorySource,
  },
  sink: {
    name: 'memory',
    docs: 'Publishes rows to an in-process topic for memory sources and memory lookup tables.',
    takes: 'rows',
    options: {
      topic: {
        type: 'string',
        default: '',
        dynamic: true,
        docs: 'Topic to publish to, without wildcards; may be a template.',
      },
      rowkindField: {
        type: 'string',
        docs: 'Field that says what to do with the row in lookup tables: insert, update, upsert (when missing) or delete.',
      },
      keyField: { type: 'string', docs: 'Field with the key of the row; needed with rowkindField.' },
    },
    create: createMemorySink,
  },
  lookup: {
    name: 'memory',
    docs: 'Keeps the last row of every key published to a topic. DATASOURCE is the topic, the stream option KEY the key column.',
    options: {
      key: { type: 'string', docs: 'Key column (from the option KEY).' },
      maxRows: {
        type: 'int',
        default: 1_000_000,
        minimum: 1,
        docs: 'Most rows to keep; rows with further keys are refused and reported.',
      },
    },
    create: createMemoryLookup,
  },
}
