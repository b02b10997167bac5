import { RowError } from '../core/errors.ts'
import { makeRow, type Row } from '../core/row.ts'
import { copyFields, getField, isObject, setField } from '../core/values.ts'
import { asRowError } from './condition.ts'
import type { Operator } from './contract.ts'

export interface ProjectSetOptions {
  /** Column that holds the array of elements. */
  readonly name: string
  /** `unnest` or `extract`, for messages. */
  readonly functionName: string
  readonly limit: number | null
}

/** Expands the array under `name`: one output row per element (spec/sql.md 5.10). */
export function projectSetOperator({ name, functionName, limit }: ProjectSetOptions): Operator {
  const most = limit !== null && limit >= 0 ? limit : Infinity
  const expand = (row: Row): Row[] => {
    const elements = getField(row.message, name)
    if (elements === undefined || elements === null) {
      throw new RowError(`can't find the result from the ${functionName} function`)
    }
    if (!Array.isArray(elements)) throw new RowError(`the argument for the ${functionName} function should be array`)
    return elements.map((element) => {
      const message = copyFields({}, row.message)
      if (isObject(element)) {
        delete message[name]
        copyFields(message, element)
      } else setField(message, name, element)
      return makeRow(row.emitter, message, row.timestamp, row.meta)
    })
  }
  return {
    name: 'projectset',
    push(batch, out) {
      if (batch.kind === 'groups') throw new Error('projectset stands above projection')
      if (batch.kind === 'rows') {
        for (const row of batch.rows) {
          try {
            const rows = expand(row).slice(0, most)
            if (rows.length) out.batch({ kind: 'rows', rows, events: 1 })
            else out.discard('filtered', 1)
          } catch (error) {
            out.fail(asRowError(error), 1)
          }
        }
        return
      }
      try {
        const rows: Row[] = []
        for (const row of batch.rows) {
          if (rows.length >= most) break
          rows.push(...expand(row))
        }
        out.batch({ ...batch, rows: rows.slice(0, most) })
      } catch (error) {
        out.fail(asRowError(error), batch.events)
      }
    },
  }
}
