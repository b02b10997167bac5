/**
 * Properties described as data (DESIGN.md, "Things are data"): connectors, formats, rule options and configuration list
 * their properties with this; validation, `GET /metadata/...`, console forms and reference pages are generated from it.
 * Validation itself is core/validate.ts.
 */
import type { Value } from './values.ts'

export type OptionType =
  | 'string'
  | 'int'
  | 'float'
  | 'bool'
  /** Milliseconds as number, or Go duration text such as `10s`; kept as ms. */
  | 'duration'
  /** Bytes as number, or text such as `64KB`, `8MB`; kept as bytes. */
  | 'size'
  | 'list'
  | 'map'
  | 'any'

export interface OptionSpec {
  readonly type: OptionType
  readonly default?: Value
  readonly required?: boolean
  readonly oneOf?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  /** Element type of a list. */
  readonly element?: OptionType
  /** Members of a nested property group (`map` with known members). */
  readonly members?: Readonly<Record<string, OptionSpec>>
  /** Never shown in status, logs, exports, metadata defaults. */
  readonly secret?: boolean
  /** May hold a `{{template}}` rendered per message. */
  readonly dynamic?: boolean
  /** Other spellings accepted. */
  readonly aliases?: readonly string[]
  readonly unit?: string
  /** Label and explanation, own words. */
  readonly docs: string
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>
