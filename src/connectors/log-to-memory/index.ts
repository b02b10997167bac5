/**
 * logToMemory sink: results of an ad-hoc query wait here until the REST call fetches them (spec/connectors.md 10.6). The
 * mailbox is a shared resource; the engine reads it through {@link queryMailbox}.
 */
import type { ConnectorContext, ConnectorDefinition } from '../contract.ts'
import { payloadText } from '../payload-text.ts'

/** Most results kept for a query nobody fetches; the oldest go first and are counted. */
const MAX_RESULTS = 10_000

export interface QueryMailbox {
  /** Results since the last call, oldest first, and how many were thrown away because nobody called. */
  take(): { readonly results: readonly string[]; readonly dropped: number }
  add(result: string): void
  close(): Promise<void>
}

const mailboxKey = (owner: string): string => `query-results/${owner}`

/** The mailbox of the query `owner`, the rule the sink works for. Give it back with `context.resources.release(key)`. */
export async function queryMailbox(
  owner: string,
  resources: ConnectorContext['resources'],
): Promise<{ readonly mailbox: QueryMailbox; readonly key: string }> {
  const key = mailboxKey(owner)
  return { key, mailbox: await resources.acquire(key, async () => createMailbox()) }
}

function createMailbox(): QueryMailbox {
  let results: string[] = []
  let dropped = 0
  return {
    take() {
      const taken = { results, dropped }
      results = []
      dropped = 0
      return taken
    },
    add(result) {
      results.push(result)
      if (results.length > MAX_RESULTS) {
        results.shift()
        dropped++
      }
    },
    async close() {
      results = []
    },
  }
}

export const logToMemory: ConnectorDefinition = {
  name: 'logToMemory',
  sink: {
    name: 'logToMemory',
    docs: 'Keeps results for the ad-hoc query interface. Internal.',
    takes: 'bytes',
    options: {},
    create(_properties, context) {
      let mailbox: QueryMailbox | undefined
      return {
        async connect() {
          mailbox ??= (await queryMailbox(context.owner, context.resources)).mailbox
        },
        async send(item) {
          mailbox?.add(payloadText(item))
        },
        async close() {
          if (!mailbox) return
          mailbox = undefined
          await context.resources.release(mailboxKey(context.owner))
        },
      }
    },
  },
}
