import { afterEach, beforeEach, expect, it } from 'vitest'
import { guardFallible } from '../../test/guard.js'
import { fixedWindow } from '../policy/index.js'
import type { FailureOptions } from './index.js'

const policy = fixedWindow({ limit: 1000, window: '1h', name: 'hour' })
const request = { policy, key: 'k', cost: 1 }

let warnings: { name: string; code: string; message: string }[] = []
const listener = (warning: Error) => warnings.push(warning as Error & { code: string })

beforeEach(() => {
  warnings = []
  process.on('warning', listener)
})

afterEach(() => {
  process.off('warning', listener)
})

/** Node emits warnings in the next tick. */
async function codes(): Promise<string[]> {
  await new Promise((resolve) => setImmediate(resolve))
  return warnings.map(({ code }) => code)
}

/** A guarded store without an `onEvent` listener. */
const setUp = (options: FailureOptions = {}) =>
  guardFallible({ onEvent: undefined, ...options } as unknown as FailureOptions)

it('a store that fails prints one warning with the reason, and one when it is available again', async () => {
  const { store, guarded, pass } = setUp()
  await guarded.check(request)
  store.state = 'failing'
  for (let i = 0; i < 100; i++) await guarded.check(request)
  expect(await codes()).toStrictEqual(['TIDEGATE_STORE_UNAVAILABLE'])
  expect(warnings[0]).toMatchObject({
    name: 'TidegateWarning',
    message: expect.stringMatching(/^The store is down\. .*onStoreFailure/),
  })
  for (let i = 0; i < 20; i++) {
    await pass(500)
    await guarded.check(request)
  }
  expect(await codes()).toHaveLength(1)
  store.state = 'up'
  await pass(2000)
  for (let i = 0; i < 100; i++) await guarded.check(request)
  expect(await codes()).toStrictEqual(['TIDEGATE_STORE_UNAVAILABLE', 'TIDEGATE_STORE_RECOVERED'])
})

it.each([
  [['open'], "decides by its onStoreFailure: 'open' allows every request."],
  [['closed'], "decides by its onStoreFailure: 'closed' denies every request."],
  [['local', 'closed'], "onStoreFailure: 'closed' denies every request, 'local' counts in this process."],
] as const)('the warning names the modes of the policies that are used: %j', async (modes, message) => {
  const { store, guarded } = setUp()
  const requests = modes.map((onStoreFailure) => ({
    ...request,
    policy: fixedWindow({ limit: 1000, window: '1h', name: onStoreFailure, onStoreFailure }),
  }))
  await guarded.take(requests)
  store.state = 'failing'
  for (let i = 0; i < 100; i++) await guarded.take(requests)
  expect(await codes()).toStrictEqual(['TIDEGATE_STORE_UNAVAILABLE'])
  expect(warnings[0]?.message).toContain(message)
})

it('a failed attempt to connect is reported once and without a check, until the store has answered', async () => {
  const listeners: ((error: unknown) => void)[] = []
  const traits = { onUnreachable: (listener: (error: unknown) => void) => void listeners.push(listener) }
  const { store, guarded } = setUp({ traits } as FailureOptions)
  const fail = () => listeners.forEach((listener) => void listener(new Error('connect ECONNREFUSED')))
  fail()
  fail()
  expect(await codes()).toStrictEqual(['TIDEGATE_STORE_UNAVAILABLE'])
  expect(warnings[0]?.message).toMatch(
    /^connect ECONNREFUSED\. Until the store is available, each policy decides by its onStoreFailure\. See /,
  )
  expect(store.methods).toStrictEqual([])
  await guarded.check(request)
  expect(await codes()).toStrictEqual(['TIDEGATE_STORE_UNAVAILABLE', 'TIDEGATE_STORE_RECOVERED'])
  fail()
  expect(await codes()).toHaveLength(2)
})

it('a store can report a failed attempt to connect immediately', async () => {
  const onUnreachable = (listener: (error: unknown) => void) => listener(new Error('connect ECONNREFUSED'))
  setUp({ traits: { onUnreachable } } as FailureOptions)
  expect(await codes()).toStrictEqual(['TIDEGATE_STORE_UNAVAILABLE'])
})

it('a store that has never answered prints a warning at its first failure', async () => {
  const { store, guarded, pass } = setUp({ connectTimeoutMs: 300 })
  store.state = 'hanging'
  const decision = guarded.check(request)
  await pass(300)
  await decision
  expect(await codes()).toStrictEqual(['TIDEGATE_STORE_UNAVAILABLE'])
  expect(warnings[0]?.message).toContain('The store did not respond within 300 ms.')
})

it('overload prints one warning each time that it begins', async () => {
  const { store, guarded, pass } = setUp({ maxInFlight: 1 })
  await guarded.check(request)
  for (let round = 1; round <= 2; round++) {
    store.state = 'hanging'
    const hanging = guarded.check(request)
    for (let i = 0; i < 100; i++) await guarded.check(request)
    expect(await codes()).toStrictEqual(Array(round).fill('TIDEGATE_OVERLOADED'))
    store.deliver()
    await hanging
    store.state = 'up'
    await pass(5000)
    await guarded.check(request)
  }
  expect(await codes()).toHaveLength(2)
  expect(warnings[0]?.message).toContain('Too many checks are waiting for the store.')
})

it('a store that fails some calls prints one warning, with the last error', async () => {
  const { store, guarded, pass } = setUp()
  for (let i = 0; i < 40; i++) {
    store.state = i % 3 === 2 ? 'failing' : 'up'
    await guarded.check(request)
    await pass(500)
  }
  expect(await codes()).toStrictEqual(['TIDEGATE_STORE_UNSTABLE'])
  expect(warnings[0]?.message).toMatch(
    /in ten different seconds of the last minute\. The last error: .+'open' allows every request/,
  )
})

it('a starved process prints one warning with the lost time', async () => {
  const { store, guarded, timers } = setUp()
  store.state = 'hanging'
  for (let i = 0; i < 20; i++) {
    const decision = guarded.check(request)
    await timers.block(610, store.deliver)
    await decision
  }
  expect(await codes()).toStrictEqual(['TIDEGATE_PROCESS_STARVED'])
  expect(warnings[0]?.message).toContain('600 ms')
})

it('prints no warning when onEvent is set', async () => {
  const { store, guarded, timers, events } = guardFallible({ maxInFlight: 1 })
  store.state = 'hanging'
  const hanging = guarded.check(request)
  await guarded.check(request)
  await timers.block(600, store.deliver)
  await hanging
  store.state = 'failing'
  for (let i = 0; i < 10; i++) await guarded.check(request)
  const types = new Set(events.map(({ type }) => type))
  expect(types).toStrictEqual(new Set(['overload', 'degraded', 'starved', 'call-failed', 'breaker', 'store']))
  expect(await codes()).toStrictEqual([])
})
