import { expect, it } from 'vitest'
import {
  concurrency,
  createLimiter,
  fixedWindow,
  leakyBucket,
  MemoryStore,
  slidingWindowCounter,
  tokenBucket,
  withFallback,
} from '../src/index.js'

/* Mistakes in the call of a function, and the line that its error says to write. */

const policy = fixedWindow({ limit: 5, window: '1m' })
class RedisStore {}

it.each<[string, () => unknown, string]>([
  [
    'fixedWindow() without window',
    () => fixedWindow({ limit: 2 } as never),
    "window is missing; write window: '1m'.",
  ],
  [
    'fixedWindow() without limit',
    () => fixedWindow({ window: '1m' } as never),
    'limit is missing; write limit: 100.',
  ],
  ['concurrency() without limit', () => concurrency({} as never), 'limit is missing; write limit: 10.'],
  [
    'tokenBucket() without capacity',
    () => tokenBucket({} as never),
    'capacity is missing; write capacity: 100.',
  ],
  [
    'tokenBucket() without refillRate',
    () => tokenBucket({ capacity: 5 } as never),
    "refillRate is missing; write refillRate: '100/1m'.",
  ],
  [
    'leakyBucket() without leakRate',
    () => leakyBucket({ capacity: 5 } as never),
    "leakRate is missing; write leakRate: '100/1m'.",
  ],
  [
    'a misspelled field of a policy',
    () => slidingWindowCounter({ limt: 5, window: '1m' } as never),
    'sliding-window-counter has no "limt"; did you mean "limit"? It takes limit, window, countDenied,',
  ],
  [
    'the numbers of another algorithm',
    () => tokenBucket({ limit: 5, window: '1m' } as never),
    'token-bucket has no "limit"; it takes capacity, refillRate, blockFor, lease, name, onStoreFailure and instances. Write for example { capacity: 100, refillRate: \'100/1m\' }.',
  ],
  [
    'the numbers of a policy in createLimiter()',
    () => createLimiter({ limit: 5, window: '1m' } as never),
    'createLimiter() takes options, got the numbers of a policy. Write createLimiter({ policy: fixedWindow({ … }) }).',
  ],
  [
    'the capacity of a policy in createLimiter()',
    () => createLimiter({ capacity: 5, leakRate: 1 } as never),
    'got the numbers of a policy. Write createLimiter({ policy: leakyBucket({ … }) }).',
  ],
  [
    'a misspelled option',
    () => createLimiter({ polcy: policy } as never),
    'createLimiter() has no option "polcy"; did you mean "policy"? It takes policy, store, failure.',
  ],
  [
    'an unknown option',
    () => createLimiter({ policy, colour: 'red' } as never),
    'createLimiter() has no option "colour"; it takes policy, store, failure.',
  ],
  [
    'createLimiter() without a policy',
    () => createLimiter({} as never),
    "policy is missing; write policy: fixedWindow({ limit: 100, window: '1m' }).",
  ],
  [
    'a policy instead of options',
    () => createLimiter(tokenBucket({ capacity: 5, refillRate: 1 }) as never),
    'createLimiter() takes options, got a policy. Write createLimiter({ policy: tokenBucket({ … }) }).',
  ],
  [
    'failure: true',
    () => createLimiter({ policy, failure: true as never }),
    'failure must be an object such as { deadlineMs: 100 }, or false, got true. Leave it out for the defaults.',
  ],
  [
    'an unknown option of failure',
    () => createLimiter({ policy, failure: { deadline: 5 } as never }),
    'failure has no option "deadline"; did you mean "deadlineMs"?',
  ],
  [
    'the class RedisStore',
    () => createLimiter({ policy, store: RedisStore as never }),
    "got the class RedisStore. Write store: new RedisStore('redis://localhost:6379').",
  ],
  [
    'the class MemoryStore',
    () => withFallback(MemoryStore as never),
    'got the class MemoryStore. Write withFallback(new MemoryStore()).',
  ],
])('%s', (_, call, message) => {
  expect(call).toThrow(message)
})
