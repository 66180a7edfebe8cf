import type { Clock } from '../src/clock.js'
import { TidegateError } from '../src/errors.js'
import { MemoryStore } from '../src/memory-store/memory-store.js'
import type { RefundRequest, ResetRequest, Store, TakeRequest } from '../src/stores/store.js'

/**
 * A store that is elsewhere and fails when told to. A call that hangs is decided when it is made, as one is
 * whose answer got lost; `arrive` brings the answers after all.
 */
export class FallibleStore implements Store {
  readonly memory: MemoryStore
  mood: 'answers' | 'fails' | 'hangs' = 'answers'
  /** What it was asked, in order. */
  readonly asked: string[] = []
  #lost: (() => void)[] = []

  constructor(clock: Clock) {
    this.memory = new MemoryStore({ clock })
  }

  check = (request: TakeRequest) => this.#call('check', () => this.memory.check(request))
  take = (requests: readonly TakeRequest[]) => this.#call('take', () => this.memory.take(requests))
  peek = (request: TakeRequest) => this.#call('peek', () => this.memory.peek(request))
  refund = (request: RefundRequest) => this.#call('refund', () => this.memory.refund(request))
  reset = (request: ResetRequest) => this.#call('reset', () => this.memory.reset(request))

  close(): void {
    this.memory.close()
  }

  /** Brings the answers of all calls that hang. */
  arrive = () => {
    for (const answer of this.#lost.splice(0)) answer()
  }

  async #call<T>(method: string, decide: () => T): Promise<T> {
    this.asked.push(method)
    if (this.mood === 'fails') throw new TidegateError('STORE_FAILED', 'The store is down.')
    const answer = decide()
    if (this.mood === 'hangs') await new Promise<void>((resolve) => this.#lost.push(resolve))
    return answer
  }
}
