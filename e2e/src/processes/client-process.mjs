// A process with a limiter like an application, with default options. Argument: a JSON object with `kind`
// (redis or remote), `url`, and `listens` for an application that handles events. Messages name the method to call; each
// is answered with the result, the error and the time it took.
import { createRemoteLimiter } from '@tidegate/client'
import { createLimiter, fixedWindow } from '@tidegate/core'
import { RedisStore } from '@tidegate/redis'

const { kind, url, listens } = JSON.parse(process.argv[2] ?? '{}')
const policy = fixedWindow({ limit: 1_000_000, window: '365d', name: 'exact' })
const onEvent = () => {}
/** @type {any} */
const store = kind === 'redis' ? new RedisStore(url) : undefined
/** @type {any} */
const limiter =
  kind === 'redis'
    ? createLimiter({ store, policy, ...(listens ? { failure: { onEvent } } : {}) })
    : createRemoteLimiter({ url, policy, ...(listens ? { onEvent } : {}) })

/** @type {Record<string, () => Promise<unknown>>} */
const methods = {
  check: () => limiter.check('user:123'),
  storeReady: () => store.ready(),
  limiterReady: () => limiter.ready(),
}

process.on('message', async (/** @type {string} */ method) => {
  const startMs = performance.now()
  /** @type {any} */
  const answer = {}
  try {
    answer.value = await methods[method]?.()
  } catch (error) {
    const { code, message } = /** @type {any} */ (error)
    answer.error = { code, message }
  }
  process.send?.({ ...answer, tookMs: performance.now() - startMs })
})
process.on('disconnect', () => process.exit(0))
process.send?.('started')
