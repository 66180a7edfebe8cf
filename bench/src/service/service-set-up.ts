import type { FixedResponse } from './service-server.js'

const CHECK = '/api/v1/rate-limit/check'
/** Node adds these headers to every response. */
const NODE_HEADERS = ['connection', 'content-length', 'date', 'keep-alive']

/** The response of the service to a check, for the bare route to copy. */
export async function responseOf(url: string): Promise<FixedResponse> {
  const response = await fetch(`${url}${CHECK}?key=user:4711`)
  const headers = Object.fromEntries([...response.headers].filter(([name]) => !NODE_HEADERS.includes(name)))
  return { headers, body: await response.json() }
}

/** Throws unless the bare route sends the same headers and body. */
export async function assertAlike(service: FixedResponse, bareUrl: string): Promise<void> {
  const baseline = await responseOf(bareUrl)
  for (const [part, expected, actual] of [
    ['headers', Object.keys(service.headers), Object.keys(baseline.headers)],
    ['body', service.body, baseline.body],
  ]) {
    if (JSON.stringify(expected) === JSON.stringify(actual)) continue
    throw new Error(`Set-up: the bare route sends a different ${part}: ${JSON.stringify(actual)}`)
  }
}

/** Checks some keys twice and throws unless each key is counted separately. */
export async function assertCounts(url: string): Promise<void> {
  for (const expected of [1, 2]) {
    for (let i = 0; i < 50; i++) {
      const key = `set-up:${i}`
      const response = await fetch(`${url}${CHECK}?key=${key}`)
      const { limit, remaining } = (await response.json()) as { limit: number; remaining: number }
      if (response.status === 200 && limit - remaining === expected) continue
      throw new Error(
        `Set-up: "${key}" was checked ${expected} times; got ${response.status}, ${remaining} of ${limit} remaining.`,
      )
    }
  }
}

/** The counters of the service. */
export interface Counted {
  allowed: number
  denied: number
  /** Decisions without the store. */
  degraded: number
}

export async function countedBy(url: string): Promise<Counted> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const sum = (series: RegExp) =>
    [...text.matchAll(series)].reduce((total, match) => total + Number(match[1]), 0)
  return {
    allowed: sum(/^rate_limiter_requests_total\{[^}]*allowed="true"[^}]*\} (\d+)/gm),
    denied: sum(/^rate_limiter_requests_total\{[^}]*allowed="false"[^}]*\} (\d+)/gm),
    degraded: sum(/^rate_limiter_degraded_total\{[^}]*\} (\d+)/gm),
  }
}
