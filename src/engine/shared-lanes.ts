/** The stateless columnar rules of one shared stream: they take part in one scan of each chunk. */
import type { ScanMember } from '../compile/columnar/index.ts'
import { SharedScan } from '../compile/columnar/shared-scan.ts'
import type { DecodeOptions } from '../formats/contract.ts'
import type { ChunkDelivery, ChunkTurn } from '../runtime/columnar-lane.ts'
import type { Consumer } from '../runtime/delivery.ts'
import type { ChunkScanner } from '../runtime/stream-runner.ts'
import type { Metered, StatelessLane } from './columnar-lane.ts'

interface Sharer {
  readonly consumer: Consumer
  readonly lane: StatelessLane
  /** Scanned rows that it has counted: it has taken part in their scan, or has been told that none of them passes. */
  counted: number
}

interface Turn {
  readonly turn: ChunkTurn
  readonly metered: Metered
}

export class SharedLanes implements ChunkScanner {
  version = 0
  readonly #scan: SharedScan
  readonly #sharers = new Map<Consumer, Sharer>()
  readonly #byMember = new Map<ScanMember, Sharer>()
  /** Rows scanned so far. Who takes no part in a scan hears of its rows when asked. */
  #rows = 0

  constructor(limits: DecodeOptions) {
    this.#scan = new SharedScan(limits)
  }

  get size(): number {
    return this.#sharers.size
  }

  has(consumer: Consumer): boolean {
    return this.#sharers.has(consumer)
  }

  add(consumer: Consumer, lane: StatelessLane): void {
    if (!this.#scan.join(lane.member)) return
    const sharer: Sharer = { consumer, lane, counted: this.#rows }
    this.#sharers.set(consumer, sharer)
    this.#byMember.set(lane.member, sharer)
    consumer.catchUp = () => this.#catchUp(sharer)
    this.version++
  }

  remove(consumer: Consumer): void {
    const sharer = this.#sharers.get(consumer)
    if (!sharer) return
    this.#scan.leave(sharer.lane.member)
    this.#forget(sharer)
  }

  #forget(sharer: Sharer): void {
    const { consumer, lane } = sharer
    this.#catchUp(sharer)
    consumer.catchUp = null
    this.#sharers.delete(consumer)
    this.#byMember.delete(lane.member)
    this.version++
  }

  #catchUp(sharer: Sharer): void {
    const skipped = this.#rows - sharer.counted
    if (skipped === 0) return
    sharer.counted = this.#rows
    sharer.lane.skipped(skipped)
    sharer.consumer.skipped?.(skipped)
  }

  /** One alone scans for itself, until it wants decoded rows. */
  #leaveAlone(): readonly Consumer[] {
    const consumers = [...this.#sharers.keys()]
    for (const consumer of consumers) if (!consumer.columnar) this.remove(consumer)
    return consumers
  }

  scan(delivery: ChunkDelivery): readonly Consumer[] {
    if (this.#sharers.size < 2) return this.#leaveAlone()
    const turns = new Map<ScanMember, Turn>()
    const { rows, counts } = this.#scan.process(delivery.chunk, (member) => {
      const { consumer, lane } = this.#byMember.get(member) as Sharer
      const turn = consumer.turn?.()
      if (!turn) return null
      const metered = lane.meter(turn.output)
      turns.set(member, { turn, metered })
      return metered.output
    })
    this.#rows += rows
    const alone: Consumer[] = []
    for (const [member, own] of counts) {
      const sharer = this.#byMember.get(member) as Sharer
      sharer.counted += rows
      if (own === null) alone.push(sharer.consumer)
      else {
        const { turn, metered } = turns.get(member) as Turn
        metered.finish(own, delivery)
        turn.done(own)
      }
    }
    for (const member of this.#scan.takeOut()) {
      const sharer = this.#byMember.get(member)
      if (!sharer) continue
      sharer.counted += rows
      this.#forget(sharer)
      alone.push(sharer.consumer)
    }
    return alone
  }
}
