import type { Policy } from '@tidegate/core'
import { type Choice, NAME, optionsOf } from './choice.js'

const KEY = 'user:123'

/** A configuration file of the service. */
export function yamlOf(choice: Choice): string {
  const options = Object.entries(optionsOf(choice)).map(([key, value]) => `    ${key}: ${value}\n`)
  // A check without a policy cannot hold a slot, so a concurrency policy is not a default.
  const first = choice.algorithm === 'concurrency' ? '' : `default: ${NAME}\n`
  return `${first}policies:
  ${NAME}:
    algorithm: ${choice.algorithm}
${options.join('')}`
}

/** A complete program. */
export function typescriptOf(choice: Choice): string {
  const factory = FACTORIES[choice.algorithm]
  const imports = [factory, 'createLimiter'].sort().join(', ')
  const options = Object.entries({ name: NAME, ...optionsOf(choice) }).map(
    ([key, value]) => `    ${key}: ${typeof value === 'string' ? `'${value}'` : value},\n`,
  )
  return `import { ${imports} } from '@tidegate/core'

const limiter = createLimiter({
  policy: ${factory}({
${options.join('')}  }),
})
${callOf(choice)}`
}

function callOf({ use, algorithm }: Choice): string {
  switch (use) {
    case 'in-flight':
      return `const slot = await limiter.acquire('${KEY}')
console.log(slot.allowed, slot.retryAfterMs)
if (slot.allowed) {
  try {
    // Do the work.
  } finally {
    await slot.release()
  }
}
`
    case 'tokens':
      return `const reservation = await limiter.reserve('${KEY}', ${ESTIMATE})
console.log(reservation.allowed, reservation.retryAfterMs)
if (reservation.allowed) {
  // Call the model, then settle with the tokens that it used.
  await reservation.settle(${ACTUAL})
}
`
    case 'attempts':
      return `const decision = await limiter.check('${KEY}')
console.log(decision.allowed, decision.retryAfterMs)
// If the password is right, give the attempt back: only failed ones count.
if (decision.allowed) await limiter.refund('${KEY}', decision)
`
    default:
      return `const decision = await limiter.check('${KEY}')
console.log(decision.allowed, decision.${algorithm === 'leaky-bucket' ? 'delayMs' : 'retryAfterMs'})
`
  }
}

/** The calls with curl, one in each line. `serviceUrl` ends with a slash. */
export function curlOf({ use }: Choice, serviceUrl: string): string {
  const api = `${serviceUrl}api/v1/rate-limit`
  const post = (operation: string, fields: object) =>
    `curl '${api}/${operation}' --json '${JSON.stringify({ key: KEY, policy: NAME, ...fields })}'`
  if (use === 'in-flight') {
    const slot = { id: 'job-1' }
    return [post('acquire', slot), post('release', slot)].join('\n')
  }
  if (use === 'tokens') {
    const id = 'chat-1'
    return [post('reserve', { id, permits: ESTIMATE }), post('settle', { id, actual: ACTUAL })].join('\n')
  }
  return `curl '${api}/check?policy=${NAME}&key=${KEY}'`
}

/** Tokens of a chat completion: the estimate before, and the usage after. */
const ESTIMATE = 1800
const ACTUAL = 1203

const FACTORIES: Record<Policy['algorithm'], string> = {
  'fixed-window': 'fixedWindow',
  'sliding-window-log': 'slidingWindowLog',
  'sliding-window-counter': 'slidingWindowCounter',
  'token-bucket': 'tokenBucket',
  'leaky-bucket': 'leakyBucket',
  concurrency: 'concurrency',
}
