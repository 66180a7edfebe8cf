import { type Answer, ask, messageOf, notTidegate, type Question, type Service } from './service.js'
import { EXIT, plain, type Terminal } from './terminal.js'

/** What `check`, `peek` and `reset` have in common. */
export interface AskOptions {
  readonly url: string
  readonly token?: string
  readonly policy?: string
  readonly algorithm?: string
  readonly permits?: number
  readonly json?: boolean
}

export async function check(key: string, options: AskOptions, terminal: Terminal): Promise<number> {
  const { policy, algorithm, permits } = options
  const question: Question = {
    method: 'POST',
    path: '/api/v1/rate-limit/check',
    fields: { key, policy, algorithm: enumName(algorithm), permits },
  }
  return asked(question, options, terminal, ({ status, body }) => {
    if (typeof body.allowed !== 'boolean' || (status !== 200 && status !== 429)) return undefined
    const { allowed } = body
    const word = allowed ? terminal.paint('green', 'allowed') : terminal.paint('red', 'refused')
    return { line: `${word}  ${plain(key)}  ${numbers(body)}`, code: allowed ? EXIT.ok : EXIT.refused }
  })
}

export async function peek(key: string, options: AskOptions, terminal: Terminal): Promise<number> {
  const { policy, algorithm } = options
  const question: Question = {
    method: 'GET',
    path: '/api/v1/rate-limit/remaining',
    fields: { key, policy, algorithm: enumName(algorithm) },
  }
  return asked(question, options, terminal, ({ status, body }) => {
    const { allowed, remaining } = body
    if (status !== 200 || (typeof allowed !== 'boolean' && typeof remaining !== 'number')) return undefined
    const passes = typeof allowed === 'boolean' ? allowed : Number(remaining) >= 1
    const word = passes ? terminal.paint('green', 'would pass') : terminal.paint('red', 'would be refused')
    return { line: `${word}  ${plain(key)}  ${numbers(body)}`, code: passes ? EXIT.ok : EXIT.refused }
  })
}

export async function reset(key: string, options: AskOptions, terminal: Terminal): Promise<number> {
  const { policy } = options
  const question: Question = { method: 'DELETE', path: '/api/v1/rate-limit/reset', fields: { key, policy } }
  const { TIDEGATE_ADMIN_TOKEN: adminToken } = terminal.env
  const token = options.token ?? (adminToken || undefined)
  return asked(question, token === undefined ? options : { ...options, token }, terminal, ({ status }) => {
    if (status < 200 || status > 299) return undefined
    const of = policy === undefined ? 'in every policy' : `in ${plain(policy)}`
    return { line: `${terminal.paint('green', 'forgotten')}  ${plain(key)}  ${of}`, code: EXIT.ok }
  })
}

/** Asks, and prints what comes back: the line that `read` makes of it, or what went wrong and what to do. */
async function asked(
  question: Question,
  options: AskOptions,
  terminal: Terminal,
  read: (answer: Answer) => { line: string; code: number } | undefined,
): Promise<number> {
  const service = serviceOf(options, terminal)
  if ('problem' in service) {
    terminal.err(service.problem)
    return EXIT.usage
  }
  const answer = await ask(service, question)
  if ('problem' in answer) {
    if (options.json) terminal.out(JSON.stringify({ error: 'no_answer', message: answer.problem }))
    else terminal.err(answer.problem)
    return EXIT.noAnswer
  }
  const result = read(answer)
  if (options.json) terminal.out(JSON.stringify(answer.body))
  if (result !== undefined) {
    const { degraded } = answer
    const note = degraded && terminal.paint('yellow', `  (the store does not answer: ${plain(degraded)})`)
    if (!options.json) terminal.out(result.line + (note ?? ''))
    return result.code
  }
  if (!options.json) terminal.err(failure(answer, service))
  return answer.status >= 400 && answer.status <= 499 ? EXIT.usage : EXIT.noAnswer
}

function serviceOf(options: AskOptions, { env }: Terminal): Service | { problem: string } {
  const token = options.token ?? (env.TIDEGATE_TOKEN || undefined)
  if (token !== undefined && !/^[!-~]+$/.test(token)) {
    return { problem: 'The token must be visible ASCII characters without spaces.' }
  }
  const { url } = options
  if (!/^https?:\/\/[^@?#]+$/.test(url) || !URL.canParse(url)) {
    return { problem: '--url must be like http://127.0.0.1:8080, without a user, a query or a fragment.' }
  }
  return { url, token }
}

function failure(answer: Answer, { url, token }: Service): string {
  const says = messageOf(answer)
  switch (answer.status) {
    case 401:
      return token === undefined
        ? `The service at ${url} asks for a token: ${says}. Pass --token or set TIDEGATE_TOKEN.`
        : `The service at ${url} does not know this token: ${says}.`
    case 403:
      return `Not allowed: ${says}.`
    case 503:
      return `The service at ${url} cannot answer now: ${says}.`
    default:
      if (answer.status < 400) return notTidegate(url)
      return answer.status >= 500
        ? `The service at ${url} failed: ${says}.`
        : `The service did not take this: ${says}.`
  }
}

/** `99 of 100 left, all of it again in 1 s (policy token_bucket)`, as far as the answer says. */
function numbers(body: Answer['body']): string {
  const { limit, remaining, retryAfterSeconds, resetAfterSeconds, policy } = body
  const parts: string[] = []
  if (typeof retryAfterSeconds === 'number' && retryAfterSeconds > 0) {
    parts.push(`try again in ${retryAfterSeconds} s`)
  }
  if (typeof remaining === 'number') {
    parts.push(typeof limit === 'number' ? `${remaining} of ${limit} left` : `${remaining} left`)
  }
  if (typeof resetAfterSeconds === 'number' && resetAfterSeconds > 0) {
    parts.push(`all of it again in ${resetAfterSeconds} s`)
  }
  const of = typeof policy === 'string' ? [`(policy ${plain(policy)})`] : []
  return [...(parts.length > 0 ? [parts.join(', ')] : []), ...of].join(' ')
}

/** The service's name of an algorithm: token-bucket is TOKEN_BUCKET. */
function enumName(algorithm: string | undefined): string | undefined {
  return algorithm?.toUpperCase().replaceAll('-', '_')
}
