import type { Clock } from '../src/clock.js'
import { TidegateError } from '../src/errors.js'
import { MemoryStore } from '../src/memory-store/memory-store.js'
import type { BlockRequest, ReserveOptions, SlotRequest, TakeUpToRequest } from '../src/store/full-store.js'
import type {
  AsyncStore,
  Call,
  RefundRequest,
  ResetRequest,
  StoreTraits,
  TakeRequest,
} from '../src/store/store.js'

/**
 * A remote store that fails on demand. A call that hangs is executed when it is made, like a call whose reply was
 * lost; `deliver` delivers the replies of all hanging calls.
 */
export class FallibleStore implements AsyncStore {
  readonly memory: MemoryStore
  readonly traits: StoreTraits
  state: 'up' | 'failing' | 'hanging' = 'up'
  /** The methods called so far, in order. */
  readonly methods: string[] = []
  /** The `call` argument of each call, in order. */
  readonly calls: (Call | undefined)[] = []
  #hanging: (() => void)[] = []

  constructor(clock: Clock, traits: StoreTraits = {}) {
    this.memory = new MemoryStore({ clock })
    this.traits = traits
  }

  check = (request: TakeRequest, call?: Call) => this.#run('check', call, () => this.memory.check(request))
  take = (requests: readonly TakeRequest[], call?: Call) =>
    this.#run('take', call, () => this.memory.take(requests))
  peek = (request: TakeRequest, call?: Call) => this.#run('peek', call, () => this.memory.peek(request))
  refund = (request: RefundRequest, call?: Call) =>
    this.#run('refund', call, () => this.memory.refund(request))
  release = (slots: readonly SlotRequest[], call?: Call) =>
    this.#run('release', call, () => this.memory.release(slots))
  renew = (slots: readonly SlotRequest[], call?: Call) =>
    this.#run('renew', call, () => this.memory.renew(slots))
  reset = (request: ResetRequest, call?: Call) => this.#run('reset', call, () => this.memory.reset(request))

  charge = (request: TakeRequest, call?: Call) => this.#run('charge', call, () => this.memory.charge(request))
  takeUpTo = (request: TakeUpToRequest, call?: Call) =>
    this.#run('takeUpTo', call, () => this.memory.takeUpTo(request))
  block = (request: BlockRequest, call?: Call) => this.#run('block', call, () => this.memory.block(request))

  reserve = (requests: readonly TakeRequest[], options?: ReserveOptions, call?: Call) =>
    this.#run('reserve', call, () => this.memory.reserve(requests, options))
  settle = (requests: readonly ResetRequest[], id: string, actual: readonly number[], call?: Call) =>
    this.#run('settle', call, () => this.memory.settle(requests, id, actual))

  close(): void {
    this.memory.close()
  }

  deliver = () => {
    for (const reply of this.#hanging.splice(0)) reply()
  }

  async #run<T>(method: string, call: Call | undefined, execute: () => T): Promise<T> {
    this.methods.push(method)
    this.calls.push(call)
    if (this.state === 'failing') throw new TidegateError('STORE_FAILED', 'The store is down.')
    const result = execute()
    if (this.state === 'hanging') await new Promise<void>((resolve) => this.#hanging.push(resolve))
    return result
  }
}
