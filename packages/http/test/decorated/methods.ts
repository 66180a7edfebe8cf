import { concurrency, createLimiter, fixedWindow, MemoryStore, type Store } from '@tidegate/core'
import { RateLimit } from '@tidegate/http/decorator'

/*
 * Compiled twice by the test of the decorator: with standard decorators, and with the legacy decorators of
 * TypeScript.
 */

export const searches = createLimiter({ policy: fixedWindow({ limit: 1, window: '365d', name: 'searches' }) })

const memory = new MemoryStore()
/** A store with promises, like a remote one. */
const remote: Store = {
  check: async (request) => memory.check(request),
  take: async (requests) => memory.take(requests),
  peek: async (request) => memory.peek(request),
  refund: async (request) => memory.refund(request),
  reset: async (request) => memory.reset(request),
  close: async () => memory.close(),
}

const exports_ = concurrency({ limit: 1, name: 'exports' })

export class Service {
  private readonly greeting = 'hello'
  calls = 0

  @RateLimit({ limit: 2, window: '365d' })
  plain(name: string): string {
    this.calls++
    return `${this.greeting} ${name}`
  }

  @RateLimit({ limit: 2, window: '365d', key: (user: { id: string }) => user.id })
  async byUser(user: { id: string }, more: number): Promise<string> {
    return `${this.greeting} ${user.id} ${more}`
  }

  @RateLimit({ limit: 3, window: '365d', cost: (units: number) => units })
  costly(units: number): number {
    return units
  }

  @RateLimit({ limiter: searches, key: 'shared', name: 'search' })
  searchHere(): string {
    return 'here'
  }

  @RateLimit({ limiter: searches, key: 'shared', name: 'search' })
  searchThere(): string {
    return 'there'
  }

  @RateLimit({ policy: exports_ })
  async oneAtATime(work: Promise<string>): Promise<string> {
    return work
  }

  @RateLimit({ policy: exports_ })
  synchronous(work: () => string): string {
    return work()
  }

  @RateLimit({
    limit: 1,
    window: '365d',
    key(this: Service) {
      return this.greeting
    },
  })
  byItself(): string {
    return 'itself'
  }

  @RateLimit({ policy: fixedWindow({ limit: 1, window: '365d', name: 'elsewhere' }), store: remote })
  elsewhere(): string | Promise<string> {
    return 'elsewhere'
  }

  @RateLimit({ limit: 1, window: '365d', key: (name: string | undefined) => name })
  maybe(name: string | undefined): string {
    return name ?? 'anonymous'
  }

  @RateLimit({ limit: 1, window: '365d' })
  static ofTheClass(): string {
    return 'static'
  }
}

export class Other {
  @RateLimit({ limit: 1, window: '365d' })
  plain(): string {
    return 'other'
  }
}
