import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const bin = fileURLToPath(new URL('../bin/tidegate.mjs', import.meta.url))

interface Result {
  code: number | null
  out: string
  err: string
}

const tidegate = (args: readonly string[], env: Record<string, string> = {}) => run(bin, args, env)

/** Runs a command as a shell does. The environment has nothing in it that is not said here. */
function run(script: string, args: readonly string[], env: Record<string, string> = {}): Promise<Result> {
  return new Promise((resolve, reject) => {
    const { PATH = '' } = process.env
    const child = spawn(process.execPath, [script, ...args], { env: { PATH, ...env }, timeout: 30_000 })
    const result: Result = { code: null, out: '', err: '' }
    child.stdout.setEncoding('utf8').on('data', (text) => {
      result.out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      result.err += text
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ ...result, code }))
  })
}

interface Asked {
  method: string | undefined
  url: string | undefined
  authorization: string | undefined
  body: string
}

/** A real server that remembers what it was asked and answers as it is told. */
function service() {
  const asked: Asked[] = []
  const answer = { status: 200, body: '{}', headers: {} as Record<string, string> }
  const server: Server = createServer(async (request, response) => {
    asked.push(await read(request))
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
    response.end(answer.body)
  })
  return {
    asked,
    /** Where it is, once it listens. */
    url: '',
    answers(status: number, body: unknown, headers: Record<string, string> = {}) {
      Object.assign(answer, { status, body: typeof body === 'string' ? body : JSON.stringify(body), headers })
    },
    async open() {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}

async function read(request: IncomingMessage): Promise<Asked> {
  const { method, url, headers } = request
  let body = ''
  for await (const piece of request.setEncoding('utf8')) body += piece
  return { method, url, authorization: headers.authorization, body }
}

const ALLOWED = {
  allowed: true,
  key: 'user:123',
  algorithm: 'TOKEN_BUCKET',
  policy: 'token_bucket',
  limit: 100,
  remaining: 99,
  resetAfterSeconds: 1,
  retryAfterSeconds: 0,
  message: 'Request allowed',
}
const REFUSED = { ...ALLOWED, allowed: false, remaining: 0, resetAfterSeconds: 10, retryAfterSeconds: 1 }

const there = service()
beforeAll(() => there.open())
afterAll(() => there.close())
beforeEach(() => {
  there.asked.length = 0
})

describe('tidegate', () => {
  it('explains itself, and each command, with examples', async () => {
    const { code, out } = await tidegate(['--help'])
    expect(code).toBe(0)
    for (const command of ['start', 'check', 'peek', 'reset', 'validate']) {
      expect(out).toMatch(new RegExp(`^  ${command} `, 'm'))
      const help = await tidegate([command, '--help'])
      expect(help.code).toBe(0)
      expect(help.out).toContain('Examples:\n')
      expect(help.out.match(new RegExp(`^  tidegate ${command}\\b`, 'gm'))?.length).toBeGreaterThanOrEqual(2)
    }
  })

  it('that is linked before it is built says what to do', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidegate-bin-'))
    try {
      mkdirSync(join(folder, 'bin'))
      copyFileSync(bin, join(folder, 'bin', 'tidegate.mjs'))
      const result = await run(join(folder, 'bin', 'tidegate.mjs'), ['start'])
      expect(result).toStrictEqual({
        code: 1,
        out: '',
        err: 'tidegate is not built yet; run npm run build first.\n',
      })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('says its version', async () => {
    expect(await tidegate(['--version'])).toStrictEqual({ code: 0, out: '0.1.0\n', err: '' })
  })

  it.each([
    ['no command', [], 'Usage: tidegate'],
    ['a command that is not there', ['chek'], 'Did you mean check?'],
    ['no key', ['check'], "missing required argument 'key'"],
    ['two keys', ['check', 'a', 'b'], 'too many arguments'],
    ['an option that is not there', ['check', 'a', '--polic', 'x'], 'Did you mean --policy?'],
    ['a policy and an algorithm', ['check', 'a', '--policy', 'x', '--algorithm', 'y'], 'cannot be used with'],
    ['permits that are no number', ['check', 'a', '--permits', '1.5'], 'a whole number from 1 up'],
    ['no permits', ['check', 'a', '--permits', '0'], 'a whole number from 1 up'],
    [
      'a URL that is none',
      ['check', 'a', '--url', 'localhost:8080'],
      '--url must be like http://127.0.0.1:8080',
    ],
    ['a password in a URL', ['check', 'a', '--url', 'http://a:hunter2@b'], 'without a user'],
    ['a token with a line in it', ['check', 'a', '--token', 'hunter2\n'], 'without spaces'],
    ['no file', ['validate'], "missing required argument 'file'"],
    ['a port that is none', ['start', '--port', '99999'], '--port: must be a whole number from 0 to 65,535'],
    [
      'a store that is none',
      ['start', '--store', 'redi://x'],
      '--store: "redi://x" is not a valid Redis address',
    ],
    ['workers in memory', ['start', '--workers', '2'], 'needs a store that they share'],
  ])('%s is wrong usage: exit code 2, and what to do', async (_title, args, says) => {
    const { code, out, err } = await tidegate(args)
    expect({ code, out }).toStrictEqual({ code: 2, out: '' })
    expect(err).toContain(says)
    expect(err).not.toContain('hunter2')
  })
})

describe('tidegate check', () => {
  it('asks, and exits with 0 if it may pass', async () => {
    there.answers(200, ALLOWED)
    expect(await tidegate(['check', 'user:123', '--url', there.url])).toStrictEqual({
      code: 0,
      out: 'allowed  user:123  99 of 100 left, all of it again in 1 s (policy token_bucket)\n',
      err: '',
    })
    expect(there.asked).toStrictEqual([
      {
        method: 'POST',
        url: '/api/v1/rate-limit/check',
        authorization: undefined,
        body: '{"key":"user:123"}',
      },
    ])
  })

  it('exits with 1 if it is refused', async () => {
    there.answers(429, REFUSED)
    expect(await tidegate(['check', 'user:123', '--url', there.url])).toStrictEqual({
      code: 1,
      out: 'refused  user:123  try again in 1 s, 0 of 100 left, all of it again in 10 s (policy token_bucket)\n',
      err: '',
    })
  })

  it('sends what it was given', async () => {
    there.answers(200, ALLOWED)
    await tidegate([
      'check',
      'a',
      '--policy',
      'p',
      '--permits',
      '5',
      '--token',
      't',
      '--url',
      `${there.url}/`,
    ])
    await tidegate(['check', 'a', '--algorithm', 'token-bucket', '--url', there.url], { TIDEGATE_TOKEN: 'e' })
    await tidegate(['check', '--', '-a b&c'], { TIDEGATE_URL: there.url })
    expect(there.asked).toMatchObject([
      {
        authorization: 'Bearer t',
        url: '/api/v1/rate-limit/check',
        body: '{"key":"a","policy":"p","permits":5}',
      },
      { authorization: 'Bearer e', body: '{"key":"a","algorithm":"TOKEN_BUCKET"}' },
      { authorization: undefined, body: '{"key":"-a b&c"}' },
    ])
  })

  it.each([
    [200, ALLOWED, 0],
    [429, REFUSED, 1],
    [400, { error: 'bad_request', message: 'permits must be a whole number', field: 'permits' }, 2],
    [503, { error: 'unavailable' }, 3],
  ])('with --json prints the body that came with %i', async (status, body, code) => {
    there.answers(status, body)
    const result = await tidegate(['check', 'user:123', '--json', '--url', there.url])
    expect(result).toStrictEqual({ code, out: `${JSON.stringify(body)}\n`, err: '' })
  })

  it('says so when the store behind the service does not answer', async () => {
    there.answers(200, { allowed: true, limit: 100, policy: 'api' }, { 'x-ratelimit-degraded': 'open' })
    const { code, out } = await tidegate(['check', 'a', '--url', there.url])
    expect({ code, out }).toStrictEqual({
      code: 0,
      out: 'allowed  a  (policy api)  (the store does not answer: open)\n',
    })
  })

  it.each([
    [400, { message: 'The key is empty.' }, 2, 'The service did not take this: The key is empty.\n'],
    [404, { message: 'There is no policy "x"' }, 2, 'There is no policy "x"'],
    [401, { message: 'A token is needed' }, 2, 'Pass --token or set TIDEGATE_TOKEN.'],
    [403, { detail: 'Not your key' }, 2, 'Not allowed: Not your key.'],
    [413, { title: 'Too large' }, 2, 'Too large'],
    [500, {}, 3, 'failed: status 500.'],
    [503, { message: 'The store is down' }, 3, 'cannot answer now: The store is down.'],
    [200, { status: 'UP' }, 3, 'is not Tidegate; check --url'],
    [200, 'hello', 3, 'is not Tidegate; check --url'],
    [404, '<html>', 3, 'is not Tidegate; check --url'],
    [302, '', 3, 'is not Tidegate; check --url'],
    [400, { message: '\u001b[2Jgone' }, 2, '\\u001b[2Jgone'],
  ])('%i %j: exit code %i, and what to do', async (status, body, code, says) => {
    there.answers(status, body)
    const result = await tidegate(['check', 'user:123', '--url', there.url])
    expect(result).toMatchObject({ code, out: '' })
    expect(result.err).toContain(says)
  })

  it('follows nobody elsewhere: the token is for this address', async () => {
    there.answers(302, '', { location: `${there.url}/elsewhere` })
    await tidegate(['check', 'a', '--token', 't', '--url', there.url])
    expect(there.asked).toHaveLength(1)
  })

  it('exits with 3 if nobody answers, and says how to start one', async () => {
    const gone = service()
    await gone.open()
    await gone.close()
    const says = `No service answers at ${gone.url} (connection refused). Start one with npx tidegate start, or say where it is with --url.`
    const args = ['check', 'user:123', '--url', gone.url]
    expect(await tidegate(args)).toStrictEqual({ code: 3, out: '', err: `${says}\n` })
    expect(await tidegate([...args, '--json'])).toStrictEqual({
      code: 3,
      out: `${JSON.stringify({ error: 'no_answer', message: says })}\n`,
      err: '',
    })
  })
})

describe('tidegate peek', () => {
  it.each([
    [ALLOWED, 0, 'would pass  user:123  99 of 100 left, all of it again in 1 s (policy token_bucket)\n'],
    [REFUSED, 1, /^would be refused {2}user:123 {2}try again in 1 s, 0 of 100 left/],
    [{ remaining: 1, limit: 5 }, 0, 'would pass  user:123  1 of 5 left\n'],
    [{ remaining: 0, limit: 5 }, 1, 'would be refused  user:123  0 of 5 left\n'],
  ])('%j: exit code %i', async (body, code, says) => {
    there.answers(200, body)
    const result = await tidegate(['peek', 'user:123', '--policy', 'a b', '--url', there.url])
    expect(result).toMatchObject({ code, err: '' })
    expect(result.out).toMatch(says)
    expect(there.asked).toMatchObject([
      { method: 'GET', url: '/api/v1/rate-limit/remaining?key=user%3A123&policy=a+b', body: '' },
    ])
  })
})

describe('tidegate reset', () => {
  it.each([
    [['--policy', 'login'], 'in login', '/api/v1/rate-limit/reset?key=user%3A123&policy=login'],
    [[], 'in every policy', '/api/v1/rate-limit/reset?key=user%3A123'],
  ])('%j forgets the key %s', async (args, where, url) => {
    there.answers(200, { reset: true })
    const result = await tidegate(['reset', 'user:123', ...args, '--url', there.url], {
      TIDEGATE_ADMIN_TOKEN: 'a',
    })
    expect(result).toStrictEqual({ code: 0, out: `forgotten  user:123  ${where}\n`, err: '' })
    expect(there.asked).toStrictEqual([{ method: 'DELETE', url, authorization: 'Bearer a', body: '' }])
  })

  it('takes an answer without a body', async () => {
    there.answers(204, '')
    expect(await tidegate(['reset', 'a', '--url', there.url])).toMatchObject({ code: 0 })
  })

  it('sends the token it is given rather than those it finds', async () => {
    there.answers(200, {})
    const env = { TIDEGATE_ADMIN_TOKEN: 'a', TIDEGATE_TOKEN: 'e' }
    await tidegate(['reset', 'a', '--token', 't', '--url', there.url], env)
    await tidegate(['reset', 'a', '--url', there.url], env)
    await tidegate(['reset', 'a', '--url', there.url], { TIDEGATE_TOKEN: 'e' })
    expect(there.asked.map(({ authorization }) => authorization)).toStrictEqual([
      'Bearer t',
      'Bearer a',
      'Bearer e',
    ])
  })

  it('without the right token exits with 2', async () => {
    there.answers(401, { message: 'Wrong token' })
    const result = await tidegate(['reset', 'a', '--token', 'hunter2', '--url', there.url])
    expect(result).toMatchObject({ code: 2, out: '' })
    expect(result.err).toContain('does not know this token: Wrong token.')
    expect(result.err).not.toContain('hunter2')
  })
})

describe('tidegate validate and start', () => {
  let folder = ''
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'tidegate-cli-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  it('say of a right file what is in it', async () => {
    const right = file(
      'right.yaml',
      `store: redis://localhost
policies:
  per-user: { algorithm: fixed-window, limit: 100, window: 1m }
  token_bucket: { capacity: 5 }
rules:
  - { name: all, key: all, policy: per-user }
`,
    )
    expect(await tidegate(['validate', right])).toStrictEqual({
      code: 0,
      out: `${right} is right: 2 policies, 1 rule, store redis\n`,
      err: '',
    })
    expect((await tidegate(['validate', right, '--json'])).out).toBe(
      `${JSON.stringify({ file: right, valid: true, mistakes: [] })}\n`,
    )
    const empty = file('empty.yaml', '')
    expect((await tidegate(['validate', empty])).out).toBe(
      `${empty} is right: 0 policies, 0 rules, store memory\n`,
    )
  })

  it('say of a wrong file all that is wrong, and exit with 1', async () => {
    const wrong = file('wrong.yaml', 'prot: 80\nadminToken: ${MISSING}\n')
    const told = [
      `${wrong}:1:1  prot: is not known here; did you mean "port"?`,
      `${wrong}:2:13  adminToken: the environment variable MISSING is not set; set it, or write \${MISSING:-fallback}, or $\${MISSING} for the characters themselves`,
    ].join('\n')
    expect(await tidegate(['validate', wrong])).toStrictEqual({ code: 1, out: '', err: `${told}\n` })
    expect(await tidegate(['start', '--config', wrong])).toStrictEqual({
      code: 1,
      out: '',
      err: `${told}\nNothing was started.\n`,
    })
    const { code, out } = await tidegate(['validate', wrong, '--json'])
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject({
      valid: false,
      mistakes: [
        { line: 1, column: 1, path: 'prot' },
        { line: 2, column: 13, path: 'adminToken' },
      ],
    })
  })

  it('take variables from the environment', async () => {
    const secret = file('variable.yaml', 'adminToken: ${ADMIN}\n')
    expect(await tidegate(['validate', secret], { ADMIN: 'a-long-admin-token' })).toMatchObject({ code: 0 })
  })

  it('say of a file that is not there that it is not', async () => {
    expect(await tidegate(['validate', '/nowhere.yaml'])).toStrictEqual({
      code: 1,
      out: '',
      err: '/nowhere.yaml: there is no such file\n',
    })
  })
})
