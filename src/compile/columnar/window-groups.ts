/**
 * The open windows of a rule whose rows come as columns: dictionary ids as groups, typed arrays as accumulators. It is the window
 * operator of its rule as well (timer, watermark, checkpoint, rows of the general lane), with the behaviour and the saved form of
 * operators/window/accumulating.ts.
 */
import type { ResultOutput } from '../../core/columnar-output.ts'
import { TEXT, TRUE } from '../../core/columns.ts'
import type { IxionError, RowError } from '../../core/errors.ts'
import { quoteJson } from '../../core/json-encode.ts'
import { makeRow, type Row, type WindowRange } from '../../core/row.ts'
import { encodeUtf8 } from '../../core/utf8.ts'
import type { Value, ValueObject } from '../../core/values.ts'
import type { Decoder } from '../../formats/contract.ts'
import type { Kernel, ScannedBatch } from '../../kernel/kernel.ts'
import { asRowError } from '../../operators/condition.ts'
import type { Emit, Operator, OperatorContext, State } from '../../operators/contract.ts'
import { groupLimit, tooManyGroups } from '../../operators/group.ts'
import { type Aggregation, emitGroups, resultRow, rowKeyOf, rowScope } from '../../operators/window/aggregation.ts'
import type { WindowSpec } from '../../operators/window/contract.ts'
import type { SavedGroup, SavedWindow } from '../../operators/window/open-window.ts'
import { loadRow, saveRow } from '../../operators/window/row-buffer.ts'
import { otherForm } from '../../operators/window/session.ts'
import { SessionTimes } from '../../operators/window/session-times.ts'
import { firstFilledOf, WindowEnds } from '../../operators/window/tumbling-hopping.ts'
import { GroupAggregates } from './accumulate.ts'
import { type Argument, argumentAt, readCell } from './cells.ts'
import { GroupKeys } from './group-keys.ts'
import { Pane } from './pane.ts'
import type { ResultEncoder } from './results.ts'
import type { ColumnClass } from './select-plan.ts'

export interface WindowGroupsOptions {
  readonly spec: WindowSpec
  readonly aggregation: Aggregation
  readonly emitter: string
  readonly decoder: Decoder
  /** Types of the scanned columns, in front of the computed ones. */
  readonly types: readonly ColumnClass[]
  /** Columns of the loop: dimensions, arguments per call (none = count(*)), and the condition that rows need to be aggregated. */
  readonly keys: readonly number[]
  readonly args: readonly (readonly number[])[]
  readonly where: number | null
  /** Set when of a group's first row only this column is read, which is its key. */
  readonly keyColumn: string | null
  readonly results: ResultEncoder | null
}

/** Where encoded results go, and who counts: `sent` is told of each window. */
export interface WindowResults extends ResultOutput {
  sent(rows: number): void
  /** Rows have gone from the watermark into their windows. */
  released(rows: number): void
}

export interface WindowGroups {
  readonly operator: Operator
  /** Of session windows; the others are found by {@link at}. */
  readonly sessions: SessionTimes | null
  /** The kernel whose scans give ids fastest; another one after the dictionary has grown. */
  kernel(): Kernel
  /** Without it, or where results have no columnar form, they leave as rows. */
  connect(results: WindowResults): void
  /** Before {@link add}: the first `count` selected rows of a batch. */
  identify(kernel: Kernel, batch: ScannedBatch, count: number): void
  /** The windows of rows at `time` are next; returns up to when a later row is in the same ones. */
  at(time: number): number
  /** Rows of this session are next. */
  enter(session: number): void
  /** Selected rows number `from` to `to`, of the windows of {@link at}; `timeOf` where they are not all of its time. */
  add(batch: ScannedBatch, from: number, to: number, timeOf?: (row: number) => number): void
  /** A decoded row, of the windows of its own time or of the session that was entered. */
  addRow(row: Row): void
  /** After a chunk. */
  finish(): GroupsLeft
}

export interface GroupsLeft {
  /** Rows that were of no window: its hop is longer than it. */
  readonly outside: number
  /** What the rule stops for. */
  readonly broken: IxionError | null
}

/** Windows kept to be used again: many where they have few groups, as short sessions have; at least one. */
const MOST_SPARES = 16
const SMALL_WINDOW = 256

export function createWindowGroups(options: WindowGroupsOptions): WindowGroups {
  const { spec, aggregation, emitter, decoder, types, keys, args, where, keyColumn, results } = options
  const { calls, dimensions, maxGroups } = aggregation
  const keyText = keyColumn === null ? null : encodeUtf8(`{${quoteJson(keyColumn)}:`)

  let groupKeys: GroupKeys | null = null
  /** So many keys may be known, whether or not a window has them. */
  let keysKept = maxGroups
  let rowGroups = new Int32Array(0)
  const ends = new WindowEnds(spec)
  const sessions = spec.kind === 'session' ? new SessionTimes(spec) : null
  /** By their ends, or by the numbers of their sessions. */
  let panes = new Map<number, Pane>()
  /** To be used again. */
  const spares: Pane[] = []
  let held = 0
  let context: OperatorContext
  let output: WindowResults | null = null
  let broken: IxionError | null = null
  /** Windows of the rows at hand, the one that ends last at the end, and the time of these rows. */
  let open: readonly Pane[] = []
  let time = 0
  /** Of no window, since the last {@link finish}. */
  let unwanted = 0

  const newPane = (): Pane => new Pane(new GroupAggregates(calls, args))
  const paneOf = (key: number): Pane => {
    let found = panes.get(key)
    if (!found) {
      found = spares.pop() ?? newPane()
      panes.set(key, found)
    }
    return found
  }
  const allKeys = (): GroupKeys => {
    // Twice the groups of a window, and their parts.
    groupKeys ??= new GroupKeys(keys, types, (dimensions.length + 1) * 2 * maxGroups)
    return groupKeys
  }

  function at(rowTime: number): number {
    time = rowTime
    if (ends.next === null) ends.begin(rowTime, context.timezone)
    const covering = ends.covering(rowTime)
    open = covering.map(paneOf)
    return ends.unchangedUntil(rowTime, covering)
  }

  function enter(session: number): void {
    open = [paneOf(session)]
  }

  function noRoom(): number {
    if (spec.limits.policy !== 'dropOldest') broken ??= groupLimit(maxGroups)
    return -1
  }

  function knownGroup(pane: Pane, id: number, text: string): number {
    const numbered = pane.find(id)
    return numbered >= 0 ? numbered : (pane.unnumbered.get(text) ?? -1)
  }

  /** The group of a key that is not found by its id; -1 when there is no room for it. */
  function newGroup(pane: Pane, batch: ScannedBatch, row: number, rowId: number, rowTime: number): number {
    let id = rowId
    let text: string | null = null
    if (id < 0 || pane.unnumbered.size > 0) {
      text = allKeys().textOfRow(batch, row)
      id = allKeys().idOf(text)
      const known = knownGroup(pane, id, text)
      if (known >= 0) return known
    }
    if (pane.size >= maxGroups) return noRoom()
    const group = pane.add(id, text, rowTime)
    if (keyText !== null) {
      const { column } = argumentAt(batch, types, keys[0] as number)
      if (column.kinds[row] === TEXT) {
        pane.firsts.addMember(keyText, batch.bytes, column.starts[row] as number, column.ends[row] as number)
        return group
      }
    }
    pane.firsts.add(batch.bytes, batch.rowStarts[row] as number, batch.rowEnds[row] as number)
    return group
  }

  function assign(
    pane: Pane,
    batch: ScannedBatch,
    from: number,
    to: number,
    passes: Uint8Array | undefined,
    timeOf: ((row: number) => number) | undefined,
  ): void {
    const { ids } = allKeys()
    const { selected } = batch
    let { table } = pane
    for (let i = from; i < to; i++) {
      const row = selected[i] as number
      if (passes && passes[row] !== TRUE) {
        rowGroups[i] = -1
        continue
      }
      const id = keys.length === 0 ? 0 : (ids[i] as number)
      let group = id >= 0 && id < table.length ? (table[id] as number) - 1 : -1
      if (group < 0) {
        group = newGroup(pane, batch, row, id, timeOf ? timeOf(row) : time)
        table = pane.table
        if (group < 0) pane.overflow++
      }
      rowGroups[i] = group
    }
  }

  function add(batch: ScannedBatch, from: number, to: number, timeOf?: (row: number) => number): void {
    const last = open[open.length - 1]
    if (!last) {
      unwanted += to - from
      return
    }
    const passes = where === null ? undefined : argumentAt(batch, types, where).column.kinds
    const rows = {
      selected: batch.selected,
      groups: rowGroups,
      from,
      to,
      argument: (column: number) => argumentAt(batch, types, column),
      read: (argument: Argument, row: number) => readCell(batch, argument, row),
    }
    for (const pane of open) {
      const { overflow } = pane
      assign(pane, batch, from, to, passes, timeOf)
      // A row counts once, in its last window.
      if (pane !== last) pane.overflow = overflow
      pane.aggregates.add(rows)
    }
    last.rows += to - from
    held += to - from
  }

  function addRow(row: Row): void {
    if (!sessions) at(row.timestamp)
    const last = open[open.length - 1]
    if (!last) {
      unwanted++
      return
    }
    last.rows++
    held++
    try {
      if (aggregation.where && !aggregation.where(row, rowScope)) return
      const key = rowKeyOf(dimensions, row)
      const id = idOf(key)
      const values = calls.map((call) => call.args.map((arg) => arg(row, rowScope)))
      for (const pane of open) {
        const group = rowGroup(pane, id, key, row)
        if (group >= 0) pane.aggregates.addValues(group, values)
        else if (pane === last) pane.overflow++
      }
    } catch (error) {
      const failure = asRowError(error)
      for (const pane of open) pane.error ??= failure
    }
  }

  function rowGroup(pane: Pane, id: number, key: string, row: Row): number {
    const known = knownGroup(pane, id, key)
    if (known >= 0) return known
    return pane.size >= maxGroups ? noRoom() : pane.addObject(id, key, row.timestamp, row.message)
  }

  function idOf(key: string): number {
    return keys.length === 0 ? 0 : allKeys().idOf(key)
  }

  function firstRow(pane: Pane, group: number): Row {
    const message = pane.objects.get(group) ?? (decoder.decode(pane.firsts.text(group))[0] as ValueObject)
    return makeRow(emitter, message, pane.times[group] as number)
  }

  function fireNext(out: Emit): void {
    const end = ends.next as number
    const window = { start: ends.start(end), end, trigger: end }
    ends.advance()
    fire(end, window, out)
  }

  /** A session with too many groups fails as a whole, as any window of rows does; the others do without the rows that had no room. */
  function failureOf(fired: Pane): RowError | null {
    if (!sessions || fired.overflow === 0) return fired.error
    fired.overflow = 0
    return fired.error ?? asRowError(tooManyGroups(maxGroups, 'dropOldest'))
  }

  function fire(key: number, window: WindowRange, out: Emit): void {
    const fired = panes.get(key)
    panes.delete(key)
    const failure = fired ? failureOf(fired) : null
    if (failure) out.fail(failure, 0)
    else emit(fired, window, out)
    if (!fired) return
    held -= fired.rows
    fired.settle(out)
    const isSmall = fired.size <= SMALL_WINDOW
    fired.reset()
    if (spares.length === 0 || (isSmall && spares.length < MOST_SPARES)) spares.push(fired)
    forgetKeys()
  }

  function emit(fired: Pane | undefined, window: WindowRange, out: Emit): void {
    if (fired && output && results) {
      const rows = results.send(fired, window, output)
      if (rows >= 0) {
        output.sent(rows)
        return
      }
    }
    try {
      const groups: Row[][] = []
      for (let g = 0; g < (fired?.size ?? 0); g++) {
        const values = (fired as Pane).aggregates.calls.map((a) => a.result(g))
        groups.push([resultRow(firstRow(fired as Pane, g), calls, values)])
      }
      emitGroups(groups, window, aggregation, out)
    } catch (error) {
      out.fail(asRowError(error), 0)
    }
  }

  /** Once a window has gone: keys of no open window make room, when they are many or one found none. */
  function forgetKeys(): void {
    const all = groupKeys
    if (all === null || (all.size <= keysKept && !all.full)) return
    const open = [...panes.values()]
    const moved = all.retain(idsOf(open))
    for (const pane of open) pane.renumber(moved, (text) => all.idOf(text))
    keysKept = Math.max(maxGroups, 2 * all.size)
  }

  function fireDue(now: number, out: Emit): void {
    if (sessions) {
      for (const { session, window } of sessions.ended.splice(0)) fire(session, window, out)
      return
    }
    const firstFilled = firstFilledOf(panes)
    for (;;) {
      ends.skipTo(now, firstFilled)
      if (ends.next === null || ends.next > now) return
      fireNext(out)
    }
  }

  function savePane([end, pane]: readonly [number, Pane]): Value {
    const texts = pane.keyTexts((id) => (keys.length === 0 ? '' : allKeys().textOf(id)))
    const groups = texts.map(
      (key, g): SavedGroup => [key, saveRow(firstRow(pane, g)), pane.aggregates.calls.map((a) => a.save(g))],
    )
    return pane.save(end, groups)
  }

  function finish(): GroupsLeft {
    const left = { outside: unwanted, broken }
    unwanted = 0
    broken = null
    return left
  }

  const operator: Operator = {
    name: 'inc_agg_window',
    get held() {
      return held
    },
    open(c) {
      context = c
      ends.setZone(c.timezone)
      sessions?.setZone(c.timezone)
      if (spec.eventTime) return
      if (ends.next === null) ends.begin(c.now(), c.timezone)
      c.wakeAt(ends.next)
    },
    push(batch, out) {
      if (batch.kind !== 'rows') throw new Error('a window takes single rows')
      for (const row of batch.rows) addRow(row)
      const left = finish()
      if (left.outside > 0) out.discard('filtered', left.outside)
      if (left.broken) throw left.broken
    },
    tick(now, out) {
      fireDue(now, out)
      context.wakeAt(ends.next)
    },
    watermark(rowTime, out) {
      if (spec.eventTime) fireDue(rowTime, out)
      out.watermark(rowTime)
    },
    save: () => ({
      ends: sessions ? sessions.save() : ends.save(),
      panes: [...panes].filter(([, p]) => !p.isBlank(p.size)).map(savePane),
    }),
    load(state) {
      const s = state as { ends: State; panes: SavedWindow[] }
      if (sessions && s.panes === undefined) throw otherForm()
      if (sessions) sessions.load(s.ends)
      else ends.load(s.ends)
      panes = new Map()
      held = 0
      for (const saved of s.panes) {
        const [end, , , , groups] = saved
        const pane = paneOf(Number(end))
        pane.load(saved)
        held += pane.rows
        for (const [key, first, states] of groups) {
          const row = loadRow(first)
          const group = pane.addObject(idOf(key), key, row.timestamp, row.message)
          for (const [i, a] of pane.aggregates.calls.entries()) a.load(group, states[i] as Value)
        }
      }
    },
  }

  return {
    operator,
    sessions,
    kernel: () => allKeys().kernel,
    connect(to) {
      output = to
    },
    identify(kernel, batch, count) {
      if (rowGroups.length < count) rowGroups = new Int32Array(batch.selected.length)
      if (keys.length > 0) allKeys().identify(kernel, batch, count)
    },
    at,
    enter,
    add,
    addRow,
    finish,
  }
}

function* idsOf(panes: readonly Pane[]): Iterable<number> {
  for (const pane of panes) for (const id of pane.ids()) if (id >= 0) yield id
}
