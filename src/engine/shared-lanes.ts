/** The stateless columnar rules of one shared stream: they take part in one scan of each chunk. */
import type { ScanMember } from '../compile/columnar/index.ts'
import { SharedScan } from '../compile/columnar/shared-scan.ts'
import type { DecodeOptions } from '../formats/contract.ts'
import type { ChunkDelivery, ChunkTurn } from '../runtime/columnar-lane.ts'
import type { Consumer } from '../runtime/delivery.ts'
import type { ChunkScanner } from '../runtime/stream-runner.ts'
import type { Metered, StatelessLane } from './columnar-lane.ts'

interface Turn {
  readonly turn: ChunkTurn
  readonly metered: Metered
}

export class SharedLanes implements ChunkScanner {
  readonly #scan: SharedScan
  readonly #lanes = new Map<Consumer, StatelessLane>()
  readonly #consumers = new Map<ScanMember, Consumer>()

  constructor(limits: DecodeOptions) {
    this.#scan = new SharedScan(limits)
  }

  add(consumer: Consumer, lane: StatelessLane): void {
    if (!this.#scan.join(lane.member)) return
    this.#lanes.set(consumer, lane)
    this.#consumers.set(lane.member, consumer)
  }

  remove(consumer: Consumer): void {
    const lane = this.#lanes.get(consumer)
    if (!lane) return
    this.#lanes.delete(consumer)
    this.#consumers.delete(lane.member)
    this.#scan.leave(lane.member)
  }

  scan(delivery: ChunkDelivery, consumers: readonly Consumer[]): readonly Consumer[] {
    if (this.#lanes.size < 2) return consumers
    const turns = new Map<ScanMember, Turn>()
    const { rows, counts } = this.#scan.process(delivery.chunk, (member) => {
      const consumer = this.#consumers.get(member) as Consumer
      const turn = consumer.turn?.()
      if (!turn) return null
      const metered = (this.#lanes.get(consumer) as StatelessLane).meter(turn.output)
      turns.set(member, { turn, metered })
      return metered.output
    })
    const alone: Consumer[] = []
    for (const consumer of consumers) {
      const lane = this.#lanes.get(consumer)
      const own = lane && counts.get(lane.member)
      if (!lane || own === null || this.#scan.isOut(lane.member)) alone.push(consumer)
      else if (own) {
        const { metered, turn } = turns.get(lane.member) as Turn
        metered.finish(own, delivery)
        turn.done(own)
      } else {
        lane.skipped(rows)
        consumer.skipped?.(rows)
      }
    }
    return alone
  }
}
