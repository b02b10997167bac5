/** The stateless columnar rules of one shared stream: they take part in one scan of each chunk. */
import { type ScanTurn, SharedScan } from '../compile/columnar/shared-scan.ts'
import type { DecodeOptions } from '../formats/contract.ts'
import type { ChunkDelivery, ChunkTurn } from '../runtime/columnar-lane.ts'
import type { Consumer } from '../runtime/delivery.ts'
import type { ChunkScanner } from '../runtime/stream-runner.ts'
import type { Metered, StatelessLane } from './columnar-lane.ts'

interface Turn extends ScanTurn {
  readonly consumer: Consumer
  readonly turn: ChunkTurn
  readonly metered: Metered
}

export class SharedLanes implements ChunkScanner {
  readonly #scan: SharedScan
  readonly #lanes = new Map<Consumer, StatelessLane>()

  constructor(limits: DecodeOptions) {
    this.#scan = new SharedScan(limits)
  }

  add(consumer: Consumer, lane: StatelessLane): void {
    if (this.#scan.join(lane.member)) this.#lanes.set(consumer, lane)
  }

  remove(consumer: Consumer): void {
    const lane = this.#lanes.get(consumer)
    if (!lane) return
    this.#lanes.delete(consumer)
    this.#scan.leave(lane.member)
  }

  scan(delivery: ChunkDelivery, consumers: readonly Consumer[]): readonly Consumer[] {
    if (this.#lanes.size < 2) return consumers
    const alone: Consumer[] = []
    const turns: Turn[] = []
    for (const consumer of consumers) {
      const lane = this.#lanes.get(consumer)
      const turn = lane && consumer.turn?.()
      if (turn) {
        const metered = lane.meter(turn.output)
        turns.push({ consumer, turn, metered, member: lane.member, output: metered.output })
      } else alone.push(consumer)
    }
    this.#scan.process(delivery.chunk, turns).forEach((counts, i) => {
      const { consumer, turn, metered } = turns[i] as Turn
      if (counts === null) {
        alone.push(consumer)
        return
      }
      metered.finish(counts, delivery)
      turn.done(counts)
    })
    return alone
  }
}
