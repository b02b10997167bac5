/** What a bench is: a list of measures, each run several times in fresh processes. */

/** A built bundle under test, or another engine's command. */
export type Contender =
  | { readonly kind: 'bundle'; readonly name: string; readonly folder: string }
  | { readonly kind: 'command'; readonly name: string; readonly command: string }

/** A contender that is ours: every measure can run it. */
export type Bundle = Contender & { readonly kind: 'bundle' }

/** Figures of one run, by name. The unit is the end of the name: `cpuSeconds`, `peakResidentMB`, `eventsPerCpuSecond`. */
export type Figures = Readonly<Record<string, number>>

export interface Budget {
  readonly figure: string
  readonly atLeast?: number
  readonly atMost?: number
}

export interface Measure {
  readonly name: string
  /** Events of one run. */
  readonly events: number
  readonly budgets?: readonly Budget[]
  /** One run. Throws when the ledger does not balance, or counts or output are not what they must be. */
  run(bundle: Bundle): Promise<Figures>
  /** The same input through another engine's command; absent when the measure has no file in and file out. */
  peer?(command: string): Promise<Figures>
}

export interface BenchSettings {
  /** Where inputs and outputs of this bench go; emptied afterwards. */
  readonly folder: string
  /** `--events`, or the bench's own number. */
  events(ordinary: number): number
}

export interface Bench {
  readonly name: string
  /** One line: what is measured. */
  readonly docs: string
  /** Prepares the input (not measured) and lists the measures. */
  measures(settings: BenchSettings): Promise<readonly Measure[]>
  /** Ends what `measures` has started. */
  close?(): Promise<void>
}

/** Thrown by a measure that this bundle or machine cannot run; the text is printed. */
export class Skipped extends Error {}
