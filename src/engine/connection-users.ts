/** Which connections running rules use: named ones by `connectionSelector`, and those of their own. */
import type { NodeMetrics } from '../runtime/metrics.ts'
import type { ConnectionReport } from './connections.ts'
import type { EngineEnvironment } from './environment.ts'
import type { ManagedRule } from './managed-rule.ts'
import { sourceType } from './source-properties.ts'

interface Use {
  readonly rule: string
  readonly operator: string
  readonly type: string
  readonly role: 'source' | 'sink'
  readonly selector: string
  readonly metrics: NodeMetrics | undefined
}

function* usesOf(rules: Iterable<ManagedRule>): Iterable<Use> {
  for (const rule of rules) {
    const { run } = rule
    if (!run) continue
    const metricsOf = (role: string, name: string): NodeMetrics | undefined =>
      run.metrics.find((m) => m.kind === role && m.name === name)
    for (const { definition, common } of run.planned.sources.values()) {
      const operator = definition.name
      const selector = (common as { connectionSelector?: string }).connectionSelector ?? ''
      const type = sourceType(definition)
      yield { rule: rule.id, operator, type, role: 'source', selector, metrics: metricsOf('source', operator) }
    }
    for (const { type, index, properties } of rule.document.actions) {
      const operator = `${type}_${index}`
      const given = properties['connectionSelector']
      const selector = typeof given === 'string' ? given : ''
      yield { rule: rule.id, operator, type, role: 'sink', selector, metrics: metricsOf('sink', operator) }
    }
  }
}

/** `rule_operator_0` of each use. */
export function usersOfConnection(id: string, rules: Iterable<ManagedRule>): string[] {
  return [...usesOf(rules)].filter((use) => use.selector === id).map((use) => `${use.rule}_${use.operator}_0`)
}

/** Connections rules opened for themselves, named `rule-operator-0-type-role`. */
export function internalConnections(environment: EngineEnvironment, rules: Iterable<ManagedRule>): ConnectionReport[] {
  const reports: ConnectionReport[] = []
  for (const { rule, operator, type, role, selector, metrics } of usesOf(rules)) {
    if (selector !== '' || !environment.connectors.get(type)?.connection) continue
    const connection = metrics?.connection
    const status = connection?.status
    reports.push({
      id: `${rule}-${operator}-0-${type}-${role}`,
      typ: type,
      props: {},
      isNamed: false,
      status: status === 1 ? 'connected' : status === -1 ? 'disconnected' : 'connecting',
      ...(status === -1 && connection?.message && { err: connection.message }),
      refCount: 1,
    })
  }
  return reports
}
