/**
 * The columnar lane: a stateless rule over JSON as one synchronous chain from payload bytes to message bytes. Results are
 * those of the general lane, by construction for the rows it cannot decide and by differential test for the others.
 */

import type { ColumnarCounts, ColumnarOutput } from '../../core/columnar-output.ts'
import type { ScanSettings } from '../../kernel/kernel.ts'
import { acquireKernel, kernelShape, releaseKernel } from '../../kernel/kernel.ts'
import { type LoadedProgram, loadProgram, type OutputProgram, programBytes } from '../../kernel/program.ts'
import type { LogicalPlan } from '../../plan/logical.ts'
import type { ColumnarChain, ColumnarEnvironment, PayloadChunk } from './contract.ts'
import { textEquality } from './equality-index.ts'
import { generalLane } from './general.ts'
import { type LoopPlan, loopPlanOf, outputColumns } from './generate.ts'
import { createDecider, type RowTaker, scanChunk, scanSettings } from './intake.ts'
import { hasColumnarForm, loopFinder } from './loops.ts'
import { outputConstants, outputProgram } from './output-constants.ts'
import { OutputText } from './output-text.ts'
import { type SelectedPlan, selectPlan, wildcardPlan } from './select-plan.ts'
import { createWildcardChain, type OtherColumns } from './wildcard.ts'

export type {
  ColumnarChain,
  ColumnarEnvironment,
  PayloadChunk,
  ScanMember,
} from './contract.ts'

/** Null when the plan, or one of its expressions, has no columnar form. */
export function compileColumnar(plan: LogicalPlan, environment: ColumnarEnvironment): ColumnarChain | null {
  if (environment.decode.wholeNumbersAsInt64) return null
  const selected = selectPlan(plan.root)
  if (selected) return chainOf(selected, environment)
  const wildcard = wildcardPlan(plan.root)
  return wildcard && createWildcardChain(wildcard, (columns, rows) => chainOf(columns, environment, rows))
}

function chainOf(
  selected: SelectedPlan,
  environment: ColumnarEnvironment,
  other: OtherColumns | null = null,
): ColumnarChain | null {
  const constants = outputConstants(selected.outputs)
  const others = other?.others ?? 0
  const loopPlan = { ...loopPlanOf(selected, constants.ranges, environment.expressions), others }
  const types = selected.columns.map((c) => c.type)
  return hasColumnarForm(loopPlan, types) ? createChain(selected, loopPlan, constants.bytes, environment, other) : null
}

function createChain(
  plan: SelectedPlan,
  loopPlan: LoopPlan,
  constants: Uint8Array,
  environment: ColumnarEnvironment,
  other: OtherColumns | null,
): ColumnarChain {
  const { columns, computed } = outputColumns(loopPlan)
  const around = environment.sendSingle ? (['{', '}\n'] as const) : (['[{', '}]\n'] as const)
  const programOf = (at: readonly number[]): OutputProgram => outputProgram(plan.outputs, at, constants, around)
  const program = programOf(columns)
  const bytes = programBytes(program)
  const general = generalLane(plan, environment)
  const types = plan.columns.map((c) => c.type)
  const decider = createDecider({ ...environment, types, findLoop: loopFinder(loopPlan, types) })
  const out = new OutputText()
  let settings: ScanSettings | null = null
  let active = false
  let nested: ColumnarChain | null = null
  /** The program with the columns where a shared scan has them. */
  let placed = program

  // Of the work in progress.
  let current = program
  let output: ColumnarOutput
  let emitted = 0
  let job: LoadedProgram

  const write = (bytes: Uint8Array, rows: number): void => {
    emitted += rows
    out.bytes(bytes, rows, output)
  }

  const taker: RowTaker = {
    begin(kernel) {
      job = loadProgram(kernel, current)
      return job.constants
    },
    selected: () => {},
    passed(kernel, batch, from, to, refuse) {
      for (let at = from; at < to; ) {
        const n = kernel.encode(job, at, to, write)
        // Longer than the kernel's output region.
        if (n === 0) refuse(batch.selected[at] as number)
        at += n || 1
      }
    },
    mixed(begins) {
      if (begins) out.collect()
      else out.flush(output)
    },
    message(message, timestamp) {
      other?.undecided(message)
      const text = general(message, timestamp)
      if (text === null) return false
      emitted++
      out.text(text, output)
      return true
    },
    failed(error, decoding) {
      out.flush(output)
      output.failed(error, 1, decoding)
    },
  }

  const open = (running: OutputProgram, chunk: PayloadChunk, to: ColumnarOutput): void => {
    active = true
    current = running
    output = to
    emitted = 0
    decider.open(taker, chunk.timestamp)
  }
  const close = (): ColumnarCounts => {
    try {
      out.flush(output)
    } finally {
      active = false
    }
    const { received, filtered } = decider.close()
    return { received, emitted, filtered }
  }

  return {
    process({ chunk }, to): ColumnarCounts {
      if (active) {
        nested ??= createChain(plan, loopPlan, constants, environment, other)
        return nested.process({ chunk }, to)
      }
      settings ??= {
        ...scanSettings(plan.columns, kernelShape, computed, bytes, environment.decode),
        others: other !== null,
      }
      const source = { kernel: acquireKernel(settings), settings }
      open(program, chunk, to)
      try {
        scanChunk(() => source, chunk, environment.decode, decider)
        return close()
      } finally {
        active = false
        releaseKernel(source.kernel)
      }
    },
    member: {
      columns: plan.columns,
      computed,
      programBytes: bytes,
      typed: decider.typed,
      equality: textEquality(loopPlan.filter, plan.columnIndex),
      wildcard: null,
      skip: decider.skip,
      place(positions, scanned) {
        const own = plan.columns.length
        const moved = columns.map((c) => (c < own ? (positions[c] as number) : scanned + c - own))
        placed = programOf(moved)
      },
      open(chunk, to) {
        if (active) return false
        open(placed, chunk, to)
        return true
      },
      take: decider.take,
      payload: decider.payload,
      close,
    },
  }
}
