import { fixedWindow } from '@tidegate/core'
import { expect, it } from 'vitest'
import { createCheckBatcher } from './check-batcher.js'
import type { ServiceResponse } from './service.js'

const policy = fixedWindow({ limit: 10, window: '1h', name: 'per-user' })
const allowed = { allowed: true, limit: 10, remaining: 9 }

function answerOf(status: number, body: ServiceResponse['body']): ServiceResponse {
  return { status, headers: new Headers(), body }
}

/** How many checks a call has. */
function sizeOf(json: object | undefined): number {
  return (json as { checks?: unknown[] }).checks?.length ?? 1
}

it('does not send a check whose caller has stopped waiting', async () => {
  const call = { abandoned: false }
  const answers: (() => void)[] = []
  const batcher = createCheckBatcher({
    sendRequest: () => new Promise((resolve) => answers.push(() => resolve(answerOf(200, allowed)))),
    maxWaitMs: 1000,
    timeMs: () => 0,
  })
  const onTheWire: Promise<unknown>[] = []
  for (let i = 0; i < 4; i++) {
    onTheWire.push(batcher.check({ policy, key: `k${i}`, cost: 1 }, undefined))
    await Promise.resolve()
  }
  const late = batcher.check({ policy, key: 'late', cost: 1 }, call).catch((error: Error) => error.message)
  call.abandoned = true
  answers[0]!()
  await onTheWire[0]
  await new Promise((resolve) => setImmediate(resolve))
  expect(answers).toHaveLength(4)
  expect(await late).toContain('waited too long in the queue of this process')
})

it('sends a check alone after five rejected batches', async () => {
  const sizes: number[] = []
  const tooMuch = { error: 'bad_request', message: 'Too much.', field: 'checks[0].permits' }
  const batcher = createCheckBatcher({
    sendRequest: async ({ json }) => {
      const isAlone = sizes.push(sizeOf(json)) > 5
      return isAlone ? answerOf(200, allowed) : answerOf(400, tooMuch)
    },
    maxWaitMs: 1000,
    timeMs: () => 0,
  })
  const checks = Array.from({ length: 8 }, (_, i) =>
    batcher.check({ policy, key: `k${i}`, cost: 1 }, undefined),
  )
  const settled = await Promise.allSettled(checks)
  expect(settled.map(({ status }) => status)).toStrictEqual([
    ...Array(5).fill('rejected'),
    ...Array(3).fill('fulfilled'),
  ])
  expect(sizes).toStrictEqual([8, 7, 6, 5, 4, 1, 1, 1])
})
