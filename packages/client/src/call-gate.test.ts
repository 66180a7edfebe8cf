import { expect, it } from 'vitest'
import { createCallGate } from './call-gate.js'

it('does not make a call whose turn comes too late, and goes on with the next', async () => {
  let patienceMs = Number.POSITIVE_INFINITY
  const gate = createCallGate(1, () => patienceMs)
  const made: string[] = []
  let answer = (_: string) => {}
  const first = gate(() => new Promise<string>((resolve) => (answer = resolve)))
  const call = (name: string) => async () => made.push(name)
  const late = gate(call('late')).catch((error: Error) => error.message)
  patienceMs = -1
  answer('first')
  expect(await first).toBe('first')
  expect(await late).toContain('it could not be asked in time')
  patienceMs = Number.POSITIVE_INFINITY
  await gate(call('next'))
  expect(made).toStrictEqual(['next'])
})
