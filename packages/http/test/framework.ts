import type { RateLimitEvent, RateLimitOptions } from '../src/middleware/rate-limit-options.js'

/*
 * The part of a framework that the cases need: its own server, with the middleware in front of one application that is the
 * same for all frameworks.
 */

// biome-ignore lint/suspicious/noExplicitAny: each framework has its own kind of request
export type AnyRequest = any
export type AnyOptions = RateLimitOptions<AnyRequest> & { handler?: unknown }

/** Helpers for options that depend on the framework. */
export interface Tools {
  header(request: AnyRequest, name: string): string | undefined
  /** A `handler` that responds with this status and text. */
  handler(answer: (event: RateLimitEvent<AnyRequest>) => { status: number; text: string }): unknown
}

export interface Framework {
  name: string
  tools: Tools
  /** The route of the application's pages, if the framework has routes. */
  route: string | undefined
  /** Whether the router sees the target as it was sent, and not a parsed URL. */
  routesTargets: boolean
  serve(options: AnyOptions, application: Application): Promise<Serving>
}

export interface Serving {
  port: number
  close(): Promise<void>
}

/** The application behind the middleware. */
export interface Application {
  /** The number of requests that reached it. */
  handled: number
  /** Ends the held responses. */
  release(): void
  /** `/status/503` has that status; `/held/503` too, but its response ends only when it is released. */
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
