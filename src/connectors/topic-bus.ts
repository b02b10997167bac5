/**
 * In-process topics (spec/connectors.md 9.5, 10.4): memory sinks publish, memory sources and lookup tables subscribe.
 * Publishing waits for every subscriber that has no room, so nothing is buffered here and nothing is lost here.
 */
import { IxionError } from '../core/errors.ts'
import type { ValueObject } from '../core/values.ts'
import type { ConnectorContext } from './contract.ts'

export type RowKind = 'insert' | 'update' | 'upsert' | 'delete'

export interface TopicMessage {
  readonly topic: string
  readonly rows: readonly ValueObject[]
  /** Per row, or null when the publisher does not mark its rows: then each is an upsert for lookup tables. */
  readonly rowKinds: readonly RowKind[] | null
  /** Ingest time, epoch ms. */
  readonly timestamp: number
}

/** Returns a promise when it has no room; it must settle also when the subscriber stops. */
export type Subscriber = (message: TopicMessage) => void | Promise<void>

export interface TopicBus {
  /** Hands the message to every matching subscriber; a promise when one of them has no room. */
  publish(message: TopicMessage): void | Promise<void>
  /** `filter` may hold `+` (one level) and a final `#` (all that follows). Returns the way out. */
  subscribe(filter: string, subscriber: Subscriber): () => void
}

export function createTopicBus(): TopicBus {
  const exact = new Map<string, Set<Subscriber>>()
  const patterns = new Map<string, { matches: (topic: string) => boolean; subscribers: Set<Subscriber> }>()

  return {
    publish(message) {
      let waiting: Promise<void>[] | undefined
      const hand = (subscriber: Subscriber): void => {
        let room: void | Promise<void>
        try {
          room = subscriber(message)
        } catch (error) {
          // The other subscribers get their copy all the same.
          room = Promise.reject(error)
        }
        if (room) {
          waiting ??= []
          waiting.push(room)
        }
      }
      for (const subscriber of [...(exact.get(message.topic) ?? [])]) hand(subscriber)
      for (const { matches, subscribers } of patterns.values()) {
        if (matches(message.topic)) for (const subscriber of [...subscribers]) hand(subscriber)
      }
      if (waiting) return Promise.all(waiting).then(() => {})
    },
    subscribe(filter, subscriber) {
      if (!hasWildcard(filter)) {
        const set = exact.get(filter) ?? new Set()
        exact.set(filter, set.add(subscriber))
        return () => {
          set.delete(subscriber)
          if (set.size === 0 && exact.get(filter) === set) exact.delete(filter)
        }
      }
      const entry = patterns.get(filter) ?? { matches: topicMatcher(filter), subscribers: new Set<Subscriber>() }
      patterns.set(filter, entry)
      entry.subscribers.add(subscriber)
      return () => {
        entry.subscribers.delete(subscriber)
        if (entry.subscribers.size === 0 && patterns.get(filter) === entry) patterns.delete(filter)
      }
    },
  }
}

export function hasWildcard(topic: string): boolean {
  return topic.includes('+') || topic.includes('#')
}

/** Throws INVALID_PROPERTY unless every wildcard stands for whole levels and `#` is last. */
export function checkTopicFilter(filter: string): void {
  const levels = filter.split('/')
  levels.forEach((level, i) => {
    if (level.includes('#') && (level !== '#' || i !== levels.length - 1)) {
      throw new IxionError('INVALID_PROPERTY', `invalid topic ${filter}: # must at the last level`, {
        path: 'datasource',
      })
    }
    if (level.includes('+') && level !== '+') {
      throw new IxionError('INVALID_PROPERTY', `invalid topic ${filter}: + must be a whole level`, {
        path: 'datasource',
      })
    }
  })
}

/** MQTT's matching rules; also used for MQTT subscriptions. */
export function topicMatcher(filter: string): (topic: string) => boolean {
  const levels = filter.split('/')
  const open = levels.at(-1) === '#'
  const fixed = open ? levels.slice(0, -1) : levels
  return (topic) => {
    if (topic.startsWith('$') && (levels[0] === '+' || levels[0] === '#')) return false
    const parts = topic.split('/')
    if (open ? parts.length < fixed.length : parts.length !== fixed.length) return false
    return fixed.every((level, i) => level === '+' || level === parts[i])
  }
}

export function topicBus(context: ConnectorContext): TopicBus {
  return context.topics as TopicBus
}
