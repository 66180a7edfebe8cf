import { createLimiter, fixedWindow, MemoryStore, type Store } from '@tidegate/core'
import { RateLimit } from '@tidegate/http/decorator'

/*
 * Compiled twice by the test of the decorator: with decorators as the language has them, and as TypeScript had
 * them before.
 */

export const searches = createLimiter({ policy: fixedWindow({ limit: 1, window: '365d', name: 'searches' }) })

const memory = new MemoryStore()
/** As a store that is elsewhere answers. */
const remote: Store = {
  check: async (request) => memory.check(request),
  take: async (requests) => memory.take(requests),
  peek: async (request) => memory.peek(request),
  refund: async (request) => memory.refund(request),
  reset: async (request) => memory.reset(request),
  close: async () => memory.close(),
}

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
    return name ?? 'nobody'
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
