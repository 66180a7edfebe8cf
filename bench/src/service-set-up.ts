import type { Answer } from './service-server.js'

const CHECK = '/api/v1/rate-limit/check'
/** Node adds these by itself to every answer. */
const NODES_OWN = ['connection', 'content-length', 'date', 'keep-alive']

/** What the service answers to a check, for a bare route to answer the same. */
export async function answerOf(url: string): Promise<Answer> {
  const response = await fetch(`${url}${CHECK}?key=user:4711`)
  const headers = Object.fromEntries([...response.headers].filter(([name]) => !NODES_OWN.includes(name)))
  return { headers, body: await response.json() }
}

/** Both must send the same headers, and bodies of one length. */
export async function assertAlike(service: Answer, bareUrl: string): Promise<void> {
  const bare = await answerOf(bareUrl)
  for (const [what, ours, theirs] of [
    ['headers', Object.keys(service.headers), Object.keys(bare.headers)],
    ['body', service.body, bare.body],
  ]) {
    if (JSON.stringify(ours) === JSON.stringify(theirs)) continue
    throw new Error(`Set-up: the bare route has another ${what}: ${JSON.stringify(theirs)}`)
  }
}

/** Asks some keys twice: each must be counted, and by itself. */
export async function assertCounts(url: string): Promise<void> {
  for (const expected of [1, 2]) {
    for (let i = 0; i < 50; i++) {
      const key = `set-up:${i}`
      const response = await fetch(`${url}${CHECK}?key=${key}`)
      const { limit, remaining } = (await response.json()) as { limit: number; remaining: number }
      if (response.status === 200 && limit - remaining === expected) continue
      throw new Error(
        `Set-up: "${key}" was asked ${expected} times; it answered ${response.status}, ${remaining} of ${limit} left.`,
      )
    }
  }
}

/** What the service has counted so far. */
export interface Counted {
  allowed: number
  refused: number
  /** Answers without the store. */
  degraded: number
}

export async function countedBy(url: string): Promise<Counted> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const sum = (series: RegExp) =>
    [...text.matchAll(series)].reduce((total, match) => total + Number(match[1]), 0)
  return {
    allowed: sum(/^rate_limiter_requests_total\{[^}]*allowed="true"[^}]*\} (\d+)/gm),
    refused: sum(/^rate_limiter_requests_total\{[^}]*allowed="false"[^}]*\} (\d+)/gm),
    degraded: sum(/^rate_limiter_degraded_total\{[^}]*\} (\d+)/gm),
  }
}
