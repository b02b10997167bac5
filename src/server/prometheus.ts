/** Prometheus text format 0.0.4 (spec/rest-api.md 9) with the ledger as additional counters. */
import type { LedgerReading } from '../core/ledger.ts'
import type { Engine } from '../engine/engine.ts'
import type { Reply } from './http.ts'
import type { Services } from './services.ts'

type Labels = readonly (readonly [name: string, value: string])[]

class Exposition {
  readonly #families = new Map<string, { type: string; help: string; samples: string[] }>()

  add(name: string, type: 'counter' | 'gauge', help: string, labels: Labels, value: number): void {
    let family = this.#families.get(name)
    if (!family) {
      family = { type, help, samples: [] }
      this.#families.set(name, family)
    }
    const sorted = [...labels].sort(([a], [b]) => (a < b ? -1 : 1))
    const text = sorted.map(([label, v]) => `${label}="${escapeLabel(v)}"`).join(',')
    family.samples.push(`${name}${text ? `{${text}}` : ''} ${value}`)
  }

  toString(): string {
    let out = ''
    for (const [name, { type, help, samples }] of [...this.#families].sort(([a], [b]) => (a < b ? -1 : 1))) {
      out += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples.sort().join('\n')}\n`
    }
    return out
  }
}

function escapeLabel(value: string): string {
  return value.replace(/\\/g, '\\\\').replace(/\n/g, '\\n').replace(/"/g, '\\"')
}

export async function metricsReply(services: Services): Promise<Reply> {
  return {
    status: 200,
    body: exposition(await services.engine(), services),
    type: 'text/plain; version=0.0.4; charset=utf-8',
  }
}

export function exposition(engine: Engine, services: Pick<Services, 'startedAt'>): string {
  const out = new Exposition()
  for (const { rule, node } of engine.metrics()) {
    const prefix = `kuiper_${node.kind}`
    const labels: Labels = [
      ['rule', rule],
      ['type', node.kind],
      ['op', node.name],
      ['op_instance', '0'],
    ]
    const counter = (suffix: string, help: string, value: number): void =>
      out.add(`${prefix}_${suffix}`, 'counter', help, labels, value)
    const gauge = (suffix: string, help: string, value: number): void =>
      out.add(`${prefix}_${suffix}`, 'gauge', help, labels, value)
    counter('records_in_total', 'Messages taken in.', node.recordsIn)
    counter('records_out_total', 'Messages sent on.', node.recordsOut)
    counter('messages_processed_total', 'Processing rounds completed.', node.processed)
    counter('exceptions_total', 'Errors.', node.exceptions)
    gauge('process_latency_us', 'Duration of the last processing round in microseconds.', node.latencyUs)
    gauge('buffer_length', 'Messages waiting in front of the node.', node.bufferLength())
    if (node.connection)
      gauge('connection_status', '1 connected, 0 connecting, -1 disconnected.', node.connection.status)
  }
  let running = 0
  let stopped = 0
  for (const { id, status } of engine.listRules()) {
    const up = status === 'running'
    if (up) running++
    else stopped++
    const value = up ? 1 : status === 'stopped by error' ? -1 : 0
    out.add('kuiper_rule_status', 'gauge', '1 running, 0 stopped, -1 stopped by error.', [['rule', id]], value)
  }
  const countHelp = 'Number of rules by state.'
  out.add('kuiper_rule_count', 'gauge', countHelp, [['status', 'running']], running)
  out.add('kuiper_rule_count', 'gauge', countHelp, [['status', 'stop']], stopped)
  for (const { rule, streams, ledger } of engine.ledgers()) {
    addLedger(out, ledger.rule, [
      ['rule', rule],
      ['stream', streams.join(',')],
    ])
  }
  addSinks(out, engine)
  const { user, system } = process.cpuUsage()
  out.add('process_cpu_seconds_total', 'counter', 'CPU time of the process in seconds.', [], (user + system) / 1e6)
  out.add('process_resident_memory_bytes', 'gauge', 'Resident memory in bytes.', [], process.memoryUsage.rss())
  out.add('process_start_time_seconds', 'gauge', 'Start of the process, Unix time.', [], services.startedAt / 1000)
  return out.toString()
}

/** Results behind a rule: what its sinks sent, gave up and still hold. */
function addSinks(out: Exposition, engine: Engine): void {
  for (const { rule, ledger } of engine.ledgers()) {
    for (const [sink, { emitted, dropped, inFlight }] of Object.entries(ledger.sinks)) {
      const labels: Labels = [
        ['rule', rule],
        ['sink', sink],
      ]
      out.add('ixion_sink_sent_events_total', 'counter', 'Results the peer of a sink has.', labels, emitted)
      out.add('ixion_sink_in_flight_events', 'gauge', 'Results that wait for a sink.', labels, inFlight)
      for (const [reason, count] of Object.entries(dropped)) {
        const all: Labels = [...labels, ['reason', reason]]
        out.add('ixion_sink_dropped_events_total', 'counter', 'Results a sink gave up, by reason.', all, count)
      }
    }
  }
}

function addLedger(out: Exposition, ledger: LedgerReading, labels: Labels): void {
  out.add('ixion_received_events_total', 'counter', 'Events a rule received.', labels, ledger.received)
  out.add('ixion_emitted_events_total', 'counter', 'Events that went into results.', labels, ledger.emitted)
  out.add('ixion_filtered_events_total', 'counter', 'Events a condition left out.', labels, ledger.filtered)
  out.add('ixion_in_flight_events', 'gauge', 'Events held in queues and operators.', labels, ledger.inFlight)
  for (const [reason, count] of Object.entries(ledger.dropped)) {
    const all: Labels = [...labels, ['reason', reason]]
    out.add('ixion_dropped_events_total', 'counter', 'Events lost, by reason.', all, count)
  }
}
