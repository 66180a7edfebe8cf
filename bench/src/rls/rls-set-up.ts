import { call, encodeCall, openSession } from './rls-calls.js'

export const DOMAIN = 'bench'

/** The limits for all contenders, in the format of the reference. */
export const LIMITS = `domain: ${DOMAIN}
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 1000000000 }
  - key: few
    rate_limit: { unit: day, requests_per_unit: 5 }
  - key: none
    rate_limit: { unit: day, requests_per_unit: 0 }
`

/** Requests with the answer that each contender must give: key, value, hits, whether it is over, remaining. */
const ANSWERS: readonly (readonly [string, string, number, boolean, number])[] = [
  ['few', 'a', 1, false, 4],
  ['few', 'a', 3, false, 1],
  ['few', 'b', 1, false, 4],
  ['few', 'a', 2, true, 0],
  ['few', 'a', 1, true, 0],
  ['few', 'b', 4, false, 0],
  ['few', 'b', 1, true, 0],
  ['few', 'c', 6, true, 0],
  ['few', 'c', 1, true, 0],
  ['none', 'a', 1, true, 0],
  ['other', 'a', 1, false, 0],
  ['user', 'set-up', 1, false, 999_999_999],
]

/** Throws unless the service answers a series of requests as the protocol's reference does. */
export async function assertAnswers(address: string): Promise<void> {
  const session = await openSession(address)
  try {
    for (const [i, [key, value, hits, isOver, remaining]] of ANSWERS.entries()) {
      const answer = await call(session, encodeCall(DOMAIN, key, value, hits))
      if (answer.isOver === isOver && answer.remaining === remaining) continue
      const expected = JSON.stringify({ isOver, remaining })
      throw new Error(
        `Set-up: request ${i + 1} (${key}=${value}) must get ${expected}, got ${JSON.stringify(answer)}.`,
      )
    }
  } finally {
    session.close()
  }
}
