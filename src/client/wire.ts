/** What travels between client and server (spec/rest-api.md); the shapes the commands and a console need. */

export interface WireError {
  readonly error: number
  readonly message: string
}

export interface RuleSummary {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly tags: readonly string[] | null
  readonly trace: boolean
  readonly version: string
}

/** Five base members and one per counter. */
export type RuleStatus = Readonly<Record<string, string | number>>

export interface RuleTopology {
  readonly sources: readonly string[]
  readonly edges: Readonly<Record<string, readonly string[]>>
}

export interface LedgerReading {
  readonly received: number
  readonly emitted: number
  readonly filtered: number
  readonly dropped: Readonly<Record<string, number>>
  readonly inFlight: number
}

export interface RuleLedger {
  readonly rule: LedgerReading
  readonly sinks: Readonly<Record<string, LedgerReading>>
  readonly streams: Readonly<Record<string, LedgerReading>>
}

export interface RuleValidation {
  readonly sources: readonly string[]
  readonly valid: boolean
  readonly warnings?: readonly { readonly message: string; readonly hint?: string }[]
}

export interface ImportAnswer {
  readonly ErrorMsg: string
  readonly ConfigResponse: Readonly<Record<string, Readonly<Record<string, string>>>>
}
