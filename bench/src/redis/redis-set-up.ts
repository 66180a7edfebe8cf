import type { RedisSubject } from './redis-contenders.js'

/** Checks every key twice and throws unless each key is counted separately. Also connects and warms up. */
export async function setUp(subject: RedisSubject, keys: readonly string[]): Promise<void> {
  for (const expected of [1, 2]) {
    for (let start = 0; start < keys.length; start += CHUNK) {
      await Promise.all(keys.slice(start, start + CHUNK).map((key) => check(key, expected)))
    }
  }

  async function check(key: string, expected: number): Promise<void> {
    const used = subject.used(await subject.check(key))
    if (used === expected) return
    throw new Error(`Set-up: "${key}" was checked ${expected} times, but ${used} units were counted.`)
  }
}

/** All keys at once would take longer than the timeout of a check. */
const CHUNK = 256
