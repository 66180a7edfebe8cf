import { fixedWindow } from '@tidegate/core'
import { expect, it } from 'vitest'
import { createCheckBatcher } from './check-batcher.js'
import type { Answer } from './service.js'

const policy = fixedWindow({ limit: 10, window: '1h', name: 'per-user' })
const allowed = { allowed: true, limit: 10, remaining: 9 }

function answerOf(status: number, body: Answer['body']): Answer {
  return { status, headers: new Headers(), body }
}

/** How many checks a call has. */
function sizeOf(json: object | undefined): number {
  return (json as { checks?: unknown[] }).checks?.length ?? 1
}

it('does not send what has waited too long, and says so', async () => {
  let patienceMs = Number.POSITIVE_INFINITY
  const answers: (() => void)[] = []
  const batcher = createCheckBatcher({
    ask: () => new Promise((resolve) => answers.push(() => resolve(answerOf(200, allowed)))),
    patienceMs: () => patienceMs,
    timeMs: () => 0,
  })
  const onTheirWay: Promise<unknown>[] = []
  for (let i = 0; i < 4; i++) {
    onTheirWay.push(batcher.check({ policy, key: `k${i}`, cost: 1 }))
    await Promise.resolve()
  }
  const late = batcher.check({ policy, key: 'late', cost: 1 }).catch((error: Error) => error.message)
  patienceMs = -1
  answers[0]!()
  await onTheirWay[0]
  await new Promise((resolve) => setImmediate(resolve))
  expect(answers).toHaveLength(4)
  expect(await late).toContain('it could not be asked in time')
})

it('sends a check that was held up by five others by itself', async () => {
  const sizes: number[] = []
  const tooMuch = { error: 'bad_request', message: 'Too much.', field: 'checks[0].permits' }
  const batcher = createCheckBatcher({
    ask: async ({ json }) => {
      const isAlone = sizes.push(sizeOf(json)) > 5
      return isAlone ? answerOf(200, allowed) : answerOf(400, tooMuch)
    },
    patienceMs: () => Number.POSITIVE_INFINITY,
    timeMs: () => 0,
  })
  const checks = Array.from({ length: 8 }, (_, i) => batcher.check({ policy, key: `k${i}`, cost: 1 }))
  const settled = await Promise.allSettled(checks)
  expect(settled.map(({ status }) => status)).toStrictEqual([
    ...Array(5).fill('rejected'),
    ...Array(3).fill('fulfilled'),
  ])
  expect(sizes).toStrictEqual([8, 7, 6, 5, 4, 1, 1, 1])
})
