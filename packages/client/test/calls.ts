import type { Fetch } from '../src/fetch.js'

/** Wraps fetch and records its calls: the last part of the path, and the body. */
export function recordingFetch(): { fetch: Fetch; calls: { path: string; body: unknown }[] } {
  const calls: { path: string; body: unknown }[] = []
  return {
    calls,
    fetch: (input, init) => {
      const { pathname } = new URL(String(input))
      const body = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined
      calls.push({ path: pathname.replace('/api/v1/rate-limit/', ''), body })
      return fetch(input, init)
    },
  }
}
