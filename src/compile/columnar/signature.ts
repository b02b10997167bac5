/** How a column of one batch is read: decided from the kinds met in it, so that plain batches get plain loops. */
import {
  BOOLEAN_KINDS,
  type Column,
  ESCAPED,
  INT,
  NOTHING_KINDS,
  NUMBER_KINDS,
  OBJECT,
  TEXT,
} from '../../core/columns.ts'
import type { ColumnClass } from './select-plan.ts'

const TEXT_KINDS = (1 << TEXT) | (1 << ESCAPED)

export interface ColumnSignature {
  /** What values are read as; `null` = every row is null or missing. */
  readonly type: 'float' | 'int' | 'text' | 'bool' | 'null'
  /** Some rows are null or missing. */
  readonly nothing: boolean
  /** Some rows are of another kind: they leave the columnar code. */
  readonly others: boolean
}

const plain: Readonly<Record<ColumnSignature['type'], number>> = {
  float: NUMBER_KINDS,
  int: 1 << INT,
  text: 1 << TEXT,
  bool: BOOLEAN_KINDS,
  null: 0,
}

export function signatureOf(kindMask: number, declared: ColumnClass): ColumnSignature {
  const something = kindMask & ~NOTHING_KINDS
  const type = typeOf(something, declared)
  return {
    type,
    nothing: (kindMask & NOTHING_KINDS) !== 0,
    others: (something & ~plain[type]) !== 0,
  }
}

function typeOf(something: number, declared: ColumnClass): ColumnSignature['type'] {
  if (something === 0) return 'null'
  if (declared === 'int' || declared === 'float' || declared === 'text' || declared === 'bool') return declared
  if (something & NUMBER_KINDS) return 'float'
  return something & TEXT_KINDS ? 'text' : something & BOOLEAN_KINDS ? 'bool' : 'float'
}

/** Kinds that decode as they are under a declared type; a row with another one asks the general decoder. */
const acceptable: Readonly<Record<ColumnClass, number>> = {
  dynamic: -1,
  int: NOTHING_KINDS | (1 << INT),
  float: NOTHING_KINDS | NUMBER_KINDS,
  text: NOTHING_KINDS | TEXT_KINDS,
  bool: NOTHING_KINDS | BOOLEAN_KINDS,
  datetime: NOTHING_KINDS | NUMBER_KINDS | TEXT_KINDS,
  struct: NOTHING_KINDS | (1 << OBJECT),
}

export function fitsDeclaration(kindMask: number, declared: ColumnClass): boolean {
  return (kindMask & ~acceptable[declared]) === 0
}

/** One character a column: batches with equal keys share a loop. */
export function signatureKey(columns: readonly Column[], types: readonly ColumnClass[]): string {
  let key = ''
  for (let i = 0; i < columns.length; i++) {
    const s = signatureOf((columns[i] as Column).kindMask, types[i] as ColumnClass)
    const flags = (s.nothing ? 1 : 0) + (s.others ? 2 : 0)
    key += String.fromCharCode(65 + flags + 4 * typeNumbers[s.type])
  }
  return key
}

const typeNumbers: Readonly<Record<ColumnSignature['type'], number>> = { float: 0, int: 1, text: 2, bool: 3, null: 4 }
