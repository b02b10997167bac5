import { describe, expect, test } from 'vitest'
import { plan } from './plan.fixture.ts'
import { type SinkFacts, type SourceFacts, topologyOf } from './topology.ts'

const bytes: SourceFacts = { decoder: true }
const mqtt: SinkFacts = { type: 'mqtt', bytes: true }
const memory: SinkFacts = { type: 'memory', bytes: false }
const names = (sql: string, options = {}, facts: SourceFacts = bytes) =>
  topologyOf(plan(sql, options), () => facts, []).nodes.map((n) => `${n.kind}_${n.name}`)

describe('names (spec/rest-api.md 8.3)', () => {
  test('a source takes a number it does not show', () => {
    expect(names('SELECT * FROM d')).toEqual(['source_d', 'op_2_decoder', 'op_3_project'])
    expect(names('SELECT * FROM d', {}, {})).toEqual(['source_d', 'op_2_project'])
  })
  test('filters count where they run', () => {
    expect(names('SELECT count(*) FROM d WHERE a > 1 GROUP BY tumblingwindow(ss, 5)').slice(1)).toEqual([
      'op_2_decoder',
      'op_3_filter',
      'op_4_window',
      'op_5_project',
    ])
    expect(names('SELECT count(*) FROM d WHERE a > 1 GROUP BY countwindow(5)').slice(1)).toEqual([
      'op_2_decoder',
      'op_3_window',
      'op_4_filter',
      'op_5_project',
    ])
  })
  test('event time adds preprocessor and watermark', () => {
    const sql = 'SELECT count(*) FROM d WHERE a > 1 GROUP BY tumblingwindow(ss, 5)'
    expect(names(sql, { isEventTime: true }).slice(1)).toEqual([
      'op_2_decoder',
      'op_3_preprocessor',
      'op_4_watermark',
      'op_5_window',
      'op_6_filter',
      'op_7_project',
    ])
  })
  test('two sources in a window', () => {
    expect(names('SELECT d.b FROM d INNER JOIN e ON d.a = e.id GROUP BY slidingwindow(ss, 5)')).toEqual([
      'source_d',
      'source_e',
      'op_2_decoder',
      'op_4_decoder',
      'op_5_window',
      'op_6_join',
      'op_7_project',
    ])
  })
  test('a window filter shares the window number', () => {
    const sql = 'SELECT a FROM d GROUP BY countwindow(5) FILTER(WHERE a > 1)'
    expect(names(sql).slice(2)).toEqual(['op_3_windowFilter', 'op_3_window', 'op_4_project'])
  })
  test('a lookup is named after its table', () => {
    expect(names('SELECT d.a FROM d INNER JOIN lt ON d.a = lt.id').slice(2)).toEqual(['op_lt', 'op_4_project'])
  })
  test('strict validation adds a preprocessor, a scan table its own chain', () => {
    expect(names('SELECT a FROM strict')).toContain('op_3_preprocessor')
    expect(names('SELECT d.a FROM d INNER JOIN st ON d.a = st.id').slice(2)).toEqual([
      'op_2_decoder',
      'op_4_decoder',
      'op_5_join_aligner',
      'op_6_join',
      'op_7_project',
    ])
  })
  test('every other operator has its name', () => {
    const sql =
      'SELECT lag(a) AS l, row_number() AS rn, unnest(arr) FROM d WHERE count(*) > 1 GROUP BY c, countwindow(5) HAVING count(*) > 1 ORDER BY l'
    expect(names(sql, {}, {}).slice(1)).toEqual([
      'op_2_analytic',
      'op_3_window',
      'op_4_agg_func',
      'op_5_filter',
      'op_6_aggregate',
      'op_7_having',
      'op_8_windowFunc',
      'op_9_order',
      'op_10_project',
      'op_11_projectset',
    ])
    const incremental = { planOptimizeStrategy: { enableIncrementalWindow: true } }
    expect(names('SELECT count(*) FROM d GROUP BY countwindow(5)', incremental, {})[1]).toBe('op_2_inc_agg_window')
    expect(names('SELECT count(*) FROM d WHERE a > 1 GROUP BY countwindow(5)', incremental, {}).slice(1)).toEqual([
      'op_2_inc_agg_window',
      'op_3_filter',
      'op_4_project',
    ])
    expect(names('SELECT dedup_trigger(a, a, ts, 1) FROM d', {}, {})[1]).toBe('op_2_dedup_trigger')
  })
  test('the whole source chain in order', () => {
    const facts = { connection: 'c1/t', rateLimit: true, decompress: true, decoder: true, payloadDecoder: true }
    expect(names('SELECT a FROM d', {}, facts)).toEqual([
      'source_c1/t',
      'op_2_emitter',
      'op_3_ratelimit',
      'op_4_decompress',
      'op_5_decoder',
      'op_6_payload_decoder',
      'op_7_project',
    ])
  })
})

describe('topo', () => {
  test('links sources, operators and sinks', () => {
    expect(topologyOf(plan('SELECT a FROM d WHERE a > 1'), () => bytes, [mqtt, memory]).topo).toEqual({
      sources: ['source_d'],
      edges: {
        source_d: ['op_2_decoder'],
        op_2_decoder: ['op_3_filter'],
        op_3_filter: ['op_4_project'],
        op_4_project: ['op_mqtt_0_0_transform', 'op_memory_1_0_transform'],
        op_mqtt_0_0_transform: ['op_mqtt_0_1_encode'],
        op_mqtt_0_1_encode: ['sink_mqtt_0'],
        op_memory_1_0_transform: ['sink_memory_1'],
      },
    })
  })
  test('both sources of a join lead to the window', () => {
    const sql = 'SELECT d.b FROM d INNER JOIN e ON d.a = e.id GROUP BY slidingwindow(ss, 1)'
    expect(topologyOf(plan(sql), () => ({}), []).topo).toMatchObject({
      sources: ['source_d', 'source_e'],
      edges: { source_d: ['op_3_window'], source_e: ['op_3_window'], op_3_window: ['op_4_join'] },
    })
  })
  test('a shared stream shows its inner chain under its name', () => {
    expect(topologyOf(plan('SELECT a FROM shared'), () => bytes, []).topo.edges).toEqual({
      source_shared: ['op_shared_2_decoder'],
      op_shared_2_decoder: ['op_3_project'],
    })
  })
  test('sink chains: batch, compression, encryption, cache, alter queue', () => {
    const edges = (facts: Partial<SinkFacts>) =>
      Object.keys(topologyOf(plan('SELECT a FROM d'), () => ({}), [{ ...mqtt, ...facts }]).topo.edges).slice(2)
    expect(edges({ batch: true, compress: true, encrypt: true, cache: true })).toEqual([
      'op_mqtt_0_0_batch',
      'op_mqtt_0_1_transform',
      'op_mqtt_0_2_batchWriter',
      'op_mqtt_0_3_compress',
      'op_mqtt_0_4_encrypt',
      'op_mqtt_0_5_cache',
    ])
    expect(edges({ cache: true, resend: true })).toEqual([
      'op_mqtt_0_0_transform',
      'op_mqtt_0_1_encode',
      'sink_mqtt_0',
      'op_mqtt_0_cache',
    ])
  })
})
