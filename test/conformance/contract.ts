/** One line of a recorded `*.jsonl` file, parsed but with its value tags still in place. */
export interface Case {
  readonly id: string
  // biome-ignore lint/suspicious/noExplicitAny: recorded data, its shape differs by file
  readonly [member: string]: any
}

export type Outcome = { readonly ok: true } | { readonly ok: false; readonly detail: string }

/** Runs one case of one file. A kind that is not built yet fails with the detail `not built: KIND`. */
export type CaseRunner = (c: Case) => Outcome | Promise<Outcome>

export const pass: Outcome = { ok: true }
export const fail = (detail: string): Outcome => ({ ok: false, detail })
