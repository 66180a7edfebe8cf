import { expect, it } from 'vitest'
import { createCallGate } from './call-gate.js'

it('does not make a call whose caller has stopped waiting, and continues with the next', async () => {
  const gate = createCallGate(1, 1000)
  const made: string[] = []
  let answer = (_: string) => {}
  const first = gate(undefined, () => new Promise<string>((resolve) => (answer = resolve)))
  const make = (name: string) => async () => made.push(name)
  const call = { abandoned: false }
  const late = gate(call, make('late')).catch((error: Error) => error.message)
  call.abandoned = true
  answer('first')
  expect(await first).toBe('first')
  expect(await late).toContain('waited too long in the queue of this process')
  await gate({ abandoned: false }, make('next'))
  expect(made).toStrictEqual(['next'])
})

it('a call without a deadline of its own waits for at most maxWaitMs', async () => {
  const gate = createCallGate(1, 20)
  let answer = (_: string) => {}
  const first = gate(undefined, () => new Promise<string>((resolve) => (answer = resolve)))
  const late = gate(undefined, async () => 'late').catch((error: Error) => error.message)
  await new Promise((resolve) => setTimeout(resolve, 40))
  answer('first')
  expect(await first).toBe('first')
  expect(await late).toContain('waited too long')
})
