import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { callForTests, values } from '../../test/support/arbitrary-values.ts'
import { RowError } from '../core/errors.ts'
import { applyScalar } from './call.ts'
import type { ScalarFunction } from './contract.ts'
import { listFunctions } from './index.ts'

const scalars = listFunctions().filter(
  (def): def is ScalarFunction => def.kind === 'scalar' && def.name !== 'delay' && def.family !== 'hash',
)

const families = [...new Set(scalars.map(({ family }) => family))]

describe.each(families)('%s functions', (family) => {
  test.each(scalars.filter((def) => def.family === family).map((def) => [def.name, def] as const))(
    '%s fails with RowError only and leaves Object.prototype alone',
    (_, def) => {
      const call = callForTests()
      const most = Math.max(def.args.length, 1) + 1
      fc.assert(
        fc.property(fc.array(values, { maxLength: most }), (args) => {
          if (def.validate(args.map(() => unknown)) !== null) return
          try {
            applyScalar(def, args, call)
          } catch (error) {
            expect(error).toBeInstanceOf(RowError)
            expect((error as Error).message).not.toMatch(/undefined|is not a function|Cannot (?:read|mix|convert a)/)
          }
        }),
      )
      expect(Object.keys(Object.prototype)).toEqual([])
    },
  )
})

const unknown = { literal: null, value: null, column: null, wildcard: false, aggregate: false } as const
