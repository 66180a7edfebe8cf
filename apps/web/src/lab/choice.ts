import {
  type AlgorithmName,
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'

/** The numbers of a policy to be written down. */
export interface Choice {
  readonly algorithm: AlgorithmName
  readonly limit: number
  readonly window: '1s' | '10s' | '1m' | '1h' | '1d'
  /** Of the buckets. */
  readonly capacity: number
}

const NAME = 'api'

/** The policy itself: what the texts below come to. */
export function policyOf({ algorithm, limit, window, capacity }: Choice): Policy {
  const rate = `${limit}/${window}` as const
  switch (algorithm) {
    case 'fixed-window':
      return fixedWindow({ limit, window, name: NAME })
    case 'sliding-window-log':
      return slidingWindowLog({ limit, window, name: NAME })
    case 'sliding-window-counter':
      return slidingWindowCounter({ limit, window, name: NAME })
    case 'token-bucket':
      return tokenBucket({ capacity, refillRate: rate, name: NAME })
    case 'leaky-bucket':
      return leakyBucket({ capacity, leakRate: rate, name: NAME })
  }
}

/** The service's file. */
export function yamlOf(choice: Choice): string {
  const options = Object.entries(optionsOf(choice)).map(([key, value]) => `${key}: ${value}`)
  return `default: ${NAME}
policies:
  ${NAME}: { algorithm: ${choice.algorithm}, ${options.join(', ')} }
`
}

/** A whole program. */
export function typescriptOf(choice: Choice): string {
  const make = MAKERS[choice.algorithm]
  const options = Object.entries({ ...optionsOf(choice), name: NAME })
    .map(([key, value]) => `${key}: ${typeof value === 'number' ? value : `'${value}'`}`)
    .join(', ')
  const answer =
    choice.algorithm === 'leaky-bucket'
      ? 'decision.allowed, decision.delayMs'
      : 'decision.allowed, decision.retryAfterMs'
  return `import { createLimiter, ${make} } from '@tidegate/core'

const limiter = createLimiter({
  policy: ${make}({ ${options} }),
})
const decision = await limiter.check('user:123')
console.log(${answer})
`
}

export function curlOf(): string {
  return `curl 'http://127.0.0.1:8080/api/v1/rate-limit/check?policy=${NAME}&key=user:123'`
}

const MAKERS: Record<AlgorithmName, string> = {
  'fixed-window': 'fixedWindow',
  'sliding-window-log': 'slidingWindowLog',
  'sliding-window-counter': 'slidingWindowCounter',
  'token-bucket': 'tokenBucket',
  'leaky-bucket': 'leakyBucket',
}

function optionsOf({ algorithm, limit, window, capacity }: Choice): Record<string, string | number> {
  if (algorithm === 'token-bucket') return { capacity, refillRate: `${limit}/${window}` }
  if (algorithm === 'leaky-bucket') return { capacity, leakRate: `${limit}/${window}` }
  return { limit, window }
}
