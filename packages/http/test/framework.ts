import type { RateLimitEvent, RateLimitOptions } from '../src/rate-limit-options.js'

/*
 * What the table of cases needs of a framework: a server of the framework's own, with our middleware in front
 * of one application that is the same everywhere.
 */

// biome-ignore lint/suspicious/noExplicitAny: each framework has its own kind of request
export type AnyRequest = any
export type AnyOptions = RateLimitOptions<AnyRequest> & { handler?: unknown }

/** How to do in this framework what options may do. */
export interface Tools {
  header(request: AnyRequest, name: string): string | undefined
  /** A `handler` that answers with this status and text. */
  handler(answer: (event: RateLimitEvent<AnyRequest>) => { status: number; text: string }): unknown
}

export interface Framework {
  name: string
  tools: Tools
  /** The path of the application's pages as the framework calls it, if it does. */
  route: string | undefined
  /** Whether it routes the target as it was sent, and not a URL that was made of it. */
  routesTargets: boolean
  serve(options: AnyOptions, application: Application): Promise<Serving>
}

export interface Serving {
  port: number
  close(): Promise<void>
}

/** What is served behind the middleware. */
export interface Application {
  /** How often it was reached. */
  handled: number
  /** Ends the answers that are waiting to be. */
  release(): void
  /**
   * `/status/503` answers with that status; `/held/503` likewise, but its answer ends when it is released.
   * Everything else is `hello`.
   */
  answer(path: string): { status: number; body: string | AsyncIterable<string> }
}

export function createApplication(): Application {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  async function* heldText(): AsyncIterable<string> {
    yield 'hel'
    await released
    yield 'lo'
  }
  return {
    handled: 0,
    release: () => release(),
    answer(path) {
      this.handled++
      const [, kind, status] = /^\/(status|held)\/(\d+)$/.exec(path) ?? []
      return { status: Number(status ?? 200), body: kind === 'held' ? heldText() : 'hello' }
    },
  }
}
