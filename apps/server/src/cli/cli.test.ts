import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeCertificate } from '@tidegate/fixtures/certificate'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const bin = fileURLToPath(new URL('../../bin/tidegate.mjs', import.meta.url))

interface Result {
  code: number | null
  out: string
  err: string
}

const tidegate = (args: readonly string[], env: Record<string, string> = {}, folder?: string) =>
  run(bin, args, env, folder)

/** Runs a command as a shell does, with only these environment variables and PATH. */
function run(
  script: string,
  args: readonly string[],
  env: Record<string, string> = {},
  folder?: string,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const { PATH = '' } = process.env
    const child = spawn(process.execPath, [script, ...args], {
      env: { PATH, ...env },
      cwd: folder,
      timeout: 30_000,
    })
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

interface ReceivedRequest {
  method: string | undefined
  url: string | undefined
  authorization: string | undefined
  body: string
}

/** A real server that keeps the requests it receives, and sends the response that was set. */
function service() {
  const received: ReceivedRequest[] = []
  const answer = { status: 200, body: '{}', headers: {} as Record<string, string> }
  const server: Server = createServer(async (request, response) => {
    received.push(await read(request))
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
    response.end(answer.body)
  })
  return {
    received,
    /** Empty until it listens. */
    url: '',
    respondWith(status: number, body: unknown, headers: Record<string, string> = {}) {
      Object.assign(answer, { status, body: typeof body === 'string' ? body : JSON.stringify(body), headers })
    },
    async open() {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}

async function read(request: IncomingMessage): Promise<ReceivedRequest> {
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
const DENIED = { ...ALLOWED, allowed: false, remaining: 0, resetAfterSeconds: 10, retryAfterSeconds: 1 }

const fakeService = service()
beforeAll(() => fakeService.open())
afterAll(() => fakeService.close())
beforeEach(() => {
  fakeService.received.length = 0
})

describe('tidegate', () => {
  it('has help with examples, also for each command', async () => {
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

  it('explains that it must be built first', async () => {
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

  it('prints its version', async () => {
    expect(await tidegate(['--version'])).toStrictEqual({ code: 0, out: '0.1.0\n', err: '' })
  })

  it.each([
    ['no command', [], 'Usage: tidegate'],
    ['an unknown command', ['chek'], 'Did you mean check?'],
    ['no key', ['check'], "missing required argument 'key'"],
    ['two keys', ['check', 'a', 'b'], 'too many arguments'],
    ['an unknown option', ['check', 'a', '--polic', 'x'], 'Did you mean --policy?'],
    ['a policy and an algorithm', ['check', 'a', '--policy', 'x', '--algorithm', 'y'], 'cannot be used with'],
    ['permits that are not whole', ['check', 'a', '--permits', '1.5'], 'a whole number of at least 1'],
    ['0 permits', ['check', 'a', '--permits', '0'], 'a whole number of at least 1'],
    [
      'an invalid URL',
      ['check', 'a', '--url', 'localhost:8080'],
      '--url must be a URL such as http://127.0.0.1:8080',
    ],
    ['a password in a URL', ['check', 'a', '--url', 'http://a:hunter2@b'], 'without a user'],
    ['a token with a line break', ['check', 'a', '--token', 'hunter2\n'], 'without spaces'],
    ['no file', ['validate'], "missing required argument 'file'"],
    ['an invalid port', ['start', '--port', '99999'], '--port: must be a whole number from 0 to 65,535'],
    [
      'an invalid store',
      ['start', '--store', 'redi://x'],
      '--store: "redi://x" is not a valid Redis address',
    ],
    ['workers in memory', ['start', '--workers', '2'], 'needs a shared store'],
  ])('%s exits with 2 and explains the usage', async (_title, args, message) => {
    const { code, out, err } = await tidegate(args)
    expect({ code, out }).toStrictEqual({ code: 2, out: '' })
    expect(err).toContain(message)
    expect(err).not.toContain('hunter2')
  })
})

describe('tidegate check', () => {
  it('sends the check, and exits with 0 if it is allowed', async () => {
    fakeService.respondWith(200, ALLOWED)
    expect(await tidegate(['check', 'user:123', '--url', fakeService.url])).toStrictEqual({
      code: 0,
      out: 'allowed  user:123  99 of 100 left, full limit in 1 s (policy token_bucket)\n',
      err: '',
    })
    expect(fakeService.received).toStrictEqual([
      {
        method: 'POST',
        url: '/api/v1/rate-limit/check',
        authorization: undefined,
        body: '{"key":"user:123"}',
      },
    ])
  })

  it('exits with 1 if it is denied', async () => {
    fakeService.respondWith(429, DENIED)
    expect(await tidegate(['check', 'user:123', '--url', fakeService.url])).toStrictEqual({
      code: 1,
      out: 'denied  user:123  retry in 1 s, 0 of 100 left, full limit in 10 s (policy token_bucket)\n',
      err: '',
    })
  })

  it('sends the fields and the token of its options', async () => {
    fakeService.respondWith(200, ALLOWED)
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
      `${fakeService.url}/`,
    ])
    await tidegate(['check', 'a', '--algorithm', 'token-bucket', '--url', fakeService.url], {
      TIDEGATE_TOKEN: 'e',
    })
    await tidegate(['check', '--', '-a b&c'], { TIDEGATE_URL: fakeService.url })
    expect(fakeService.received).toMatchObject([
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
    [429, DENIED, 1],
    [400, { error: 'bad_request', message: 'permits must be a whole number', field: 'permits' }, 2],
    [503, { error: 'unavailable' }, 3],
  ])('with --json prints the body of a %i response', async (status, body, code) => {
    fakeService.respondWith(status, body)
    const result = await tidegate(['check', 'user:123', '--json', '--url', fakeService.url])
    expect(result).toStrictEqual({ code, out: `${JSON.stringify(body)}\n`, err: '' })
  })

  it('reports that the store of the service is unavailable', async () => {
    fakeService.respondWith(
      200,
      { allowed: true, limit: 100, policy: 'api' },
      { 'x-ratelimit-degraded': 'open' },
    )
    const { code, out } = await tidegate(['check', 'a', '--url', fakeService.url])
    expect({ code, out }).toStrictEqual({
      code: 0,
      out: 'allowed  a  (policy api)  (store unavailable: open)\n',
    })
  })

  it.each([
    [400, { message: 'The key is empty.' }, 2, 'rejected the request: The key is empty.\n'],
    [404, { message: 'Unknown policy "x"' }, 2, 'Unknown policy "x"'],
    [401, { message: 'A token is needed' }, 2, 'Pass --token or set TIDEGATE_TOKEN.'],
    [403, { detail: 'Not your key' }, 2, 'Not allowed: Not your key.'],
    [413, { title: 'Too large' }, 2, 'Too large'],
    [500, {}, 3, 'failed: status 500.'],
    [503, { message: 'The store is down' }, 3, 'is unavailable: The store is down.'],
    [200, { status: 'UP' }, 3, 'is not Tidegate; check --url'],
    [200, 'hello', 3, 'is not Tidegate; check --url'],
    [404, '<html>', 3, 'is not Tidegate; check --url'],
    [302, '', 3, 'is not Tidegate; check --url'],
    [400, { message: '\u001b[2Jgone' }, 2, '\\u001b[2Jgone'],
  ])('explains the response %i %j, and exits with %i', async (status, body, code, message) => {
    fakeService.respondWith(status, body)
    const result = await tidegate(['check', 'user:123', '--url', fakeService.url])
    expect(result).toMatchObject({ code, out: '' })
    expect(result.err).toContain(message)
  })

  it('does not follow redirects, which would leak the token', async () => {
    fakeService.respondWith(302, '', { location: `${fakeService.url}/elsewhere` })
    await tidegate(['check', 'a', '--token', 't', '--url', fakeService.url])
    expect(fakeService.received).toHaveLength(1)
  })

  it('exits with 3 if no service responds, and explains how to start one', async () => {
    const gone = service()
    await gone.open()
    await gone.close()
    const message = `No service is reachable at ${gone.url} (connection refused). Start one with npx tidegate start, or pass its address as --url.`
    const args = ['check', 'user:123', '--url', gone.url]
    expect(await tidegate(args)).toStrictEqual({ code: 3, out: '', err: `${message}\n` })
    expect(await tidegate([...args, '--json'])).toStrictEqual({
      code: 3,
      out: `${JSON.stringify({ error: 'no_answer', message })}\n`,
      err: '',
    })
  })
})

describe('tidegate peek', () => {
  it.each([
    [ALLOWED, 0, 'would be allowed  user:123  99 of 100 left, full limit in 1 s (policy token_bucket)\n'],
    [DENIED, 1, /^would be denied {2}user:123 {2}retry in 1 s, 0 of 100 left/],
    [{ remaining: 1, limit: 5 }, 0, 'would be allowed  user:123  1 of 5 left\n'],
    [{ remaining: 0, limit: 5 }, 1, 'would be denied  user:123  0 of 5 left\n'],
  ])('%j exits with %i', async (body, code, line) => {
    fakeService.respondWith(200, body)
    const result = await tidegate(['peek', 'user:123', '--policy', 'a b', '--url', fakeService.url])
    expect(result).toMatchObject({ code, err: '' })
    expect(result.out).toMatch(line)
    expect(fakeService.received).toMatchObject([
      { method: 'GET', url: '/api/v1/rate-limit/remaining?key=user%3A123&policy=a+b', body: '' },
    ])
  })
})

describe('tidegate reset', () => {
  it.each([
    [['--policy', 'login'], 'in login', '/api/v1/rate-limit/reset?key=user%3A123&policy=login'],
    [[], 'in every policy', '/api/v1/rate-limit/reset?key=user%3A123'],
  ])('%j resets the key %s', async (args, where, url) => {
    fakeService.respondWith(200, { reset: true })
    const result = await tidegate(['reset', 'user:123', ...args, '--url', fakeService.url], {
      TIDEGATE_ADMIN_TOKEN: 'a',
    })
    expect(result).toStrictEqual({ code: 0, out: `reset  user:123  ${where}\n`, err: '' })
    expect(fakeService.received).toStrictEqual([
      { method: 'DELETE', url, authorization: 'Bearer a', body: '' },
    ])
  })

  it('accepts a response without a body', async () => {
    fakeService.respondWith(204, '')
    expect(await tidegate(['reset', 'a', '--url', fakeService.url])).toMatchObject({ code: 0 })
  })

  it('prefers --token to the environment, and the admin token to the token', async () => {
    fakeService.respondWith(200, {})
    const env = { TIDEGATE_ADMIN_TOKEN: 'a', TIDEGATE_TOKEN: 'e' }
    await tidegate(['reset', 'a', '--token', 't', '--url', fakeService.url], env)
    await tidegate(['reset', 'a', '--url', fakeService.url], env)
    await tidegate(['reset', 'a', '--url', fakeService.url], { TIDEGATE_TOKEN: 'e' })
    expect(fakeService.received.map(({ authorization }) => authorization)).toStrictEqual([
      'Bearer t',
      'Bearer a',
      'Bearer e',
    ])
  })

  it('without a token names the variable of the admin token', async () => {
    fakeService.respondWith(401, { message: 'Missing token' })
    const { err } = await tidegate(['reset', 'a', '--url', fakeService.url])
    expect(err).toContain('Pass --token or set TIDEGATE_ADMIN_TOKEN.')
  })

  it('without the right token exits with 2', async () => {
    fakeService.respondWith(401, { message: 'Wrong token' })
    const result = await tidegate(['reset', 'a', '--token', 'hunter2', '--url', fakeService.url])
    expect(result).toMatchObject({ code: 2, out: '' })
    expect(result.err).toContain('rejected the token: Wrong token.')
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

  it('summarize a valid file', async () => {
    const valid = file(
      'valid.yaml',
      `store: redis://localhost
policies:
  per-user: { algorithm: fixed-window, limit: 100, window: 1m }
  token_bucket: { capacity: 5 }
rules:
  - { name: all, key: all, policy: per-user }
`,
    )
    expect(await tidegate(['validate', valid])).toStrictEqual({
      code: 0,
      out: `${valid} is valid: 2 policies, 1 rule, store redis\n`,
      err: '',
    })
    expect((await tidegate(['validate', valid, '--json'])).out).toBe(
      `${JSON.stringify({ file: valid, valid: true, errors: [], warnings: [], unused: [] })}\n`,
    )
    const empty = file('empty.yaml', '')
    expect((await tidegate(['validate', empty])).out).toBe(
      `${empty} is valid: 0 policies, 0 rules, store memory\n`,
    )
  })

  it('list all errors of an invalid file, and exit with 1', async () => {
    const invalid = file('invalid.yaml', 'prot: 80\nadminToken: ${MISSING}\n')
    const errors = [
      `${invalid}:1:1  prot: unknown option; did you mean "port"?`,
      `${invalid}:2:13  adminToken: environment variable MISSING is not set; set it, or write \${MISSING:-fallback}, or $\${MISSING} for that literal text`,
    ].join('\n')
    expect(await tidegate(['validate', invalid])).toStrictEqual({ code: 1, out: '', err: `${errors}\n` })
    expect(await tidegate(['start', '--config', invalid])).toStrictEqual({
      code: 1,
      out: '',
      err: `${errors}\nThe service was not started.\n`,
    })
    const { code, out } = await tidegate(['validate', invalid, '--json'])
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject({
      valid: false,
      errors: [
        { line: 1, column: 1, path: 'prot' },
        { line: 2, column: 13, path: 'adminToken' },
      ],
    })
  })

  it('list the unsupported features of a Spring file, and its unused sections', async () => {
    const spring = file(
      'application.yml',
      'spring:\n  application: { name: a }\n  security: { user: { name: a } }\n  cloud.gateway.routes:\n    - { id: a, uri: "http://127.0.0.1:1", predicates: [Path=/**] }\n---\nspring.config.activate.on-profile: eu\nrate-limits: {}\n',
    )
    const warning =
      'spring.security: has no effect: the gateway does not authenticate requests; check that the upstreams reject requests without credentials'
    expect(await tidegate(['validate', spring])).toStrictEqual({
      code: 0,
      out: `Not used: the document for profile eu, spring.application\n${spring} is valid: 0 policies, 0 rules, 1 route, store memory, 1 warning\n`,
      err: `warning  ${spring}:3:3  ${warning}\n`,
    })
    const strict = await tidegate(['validate', spring, '--strict', '--json', '--profiles', 'eu'])
    expect(strict.code).toBe(1)
    expect(JSON.parse(strict.out)).toMatchObject({
      valid: true,
      warnings: [
        { line: 3, path: 'spring.security' },
        { line: 8, path: 'rate-limits' },
      ],
      unused: ['spring.application'],
    })
  })

  it('replace variables by the environment', async () => {
    const secret = file('variable.yaml', 'adminToken: ${ADMIN}\n')
    expect(await tidegate(['validate', secret], { ADMIN: 'a-long-admin-token' })).toMatchObject({ code: 0 })
  })

  it('report a missing file', async () => {
    expect(await tidegate(['validate', '/nowhere.yaml'])).toStrictEqual({
      code: 1,
      out: '',
      err: '/nowhere.yaml: file not found\n',
    })
  })
  it('read limit files for Envoy', async () => {
    const limits = (name: string, unit: string) =>
      file(name, `domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: ${unit} } }]\n`)
    const valid = limits('limits.yaml', 'day')
    expect((await tidegate(['validate', valid])).out).toBe(`${valid} is valid: 1 domain, 1 rate limit\n`)
    const invalid = limits('invalid-limits.yaml', 'dag')
    const errors = `${invalid}:2:48  descriptors[0].rate_limit.unit: unknown unit "dag"; write one of second, minute, hour, day, week, month, year, or a window such as window: 10m`
    const config = file('with-rls.yaml', `rls: { listen: 0, config: [${invalid}] }`)
    expect(await tidegate(['validate', config])).toStrictEqual({ code: 1, out: '', err: `${errors}\n` })
    expect(JSON.parse((await tidegate(['validate', invalid, '--json'])).out)).toMatchObject({
      valid: false,
      errors: [{ file: invalid, line: 2, column: 48, path: 'descriptors[0].rate_limit.unit' }],
    })
    expect(await tidegate(['start', '--rls', '0', '--rls-config', invalid])).toStrictEqual({
      code: 1,
      out: '',
      err: `${errors}\nThe service was not started.\n`,
    })
  })

  it('report that tidegate.yaml in the folder is not used without --config', async () => {
    const folder = dirname(file('tidegate.yaml', 'port: 0\n'))
    const { code, err } = await tidegate(['start', '--port', 'none'], {}, folder)
    expect(code).toBe(2)
    expect(err).toContain('tidegate.yaml in this folder is not used; to use it, add --config tidegate.yaml.')
  })

  it('report --rls if its port is in use', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const limits = file('port-limits.yaml', 'domain: shop\n')
    const args = ['start', '--port', '0', '--rls', `127.0.0.1:${port}`, '--rls-config', limits]
    const { code, err } = await tidegate(args)
    taken.close()
    expect([code, err]).toStrictEqual([
      1,
      expect.stringContaining(`Port ${port} of 127.0.0.1 is already in use. Choose another port with --rls`),
    ])
  })

  it('require limit files for --rls; without a file, errors have no position and are usage errors', async () => {
    const { code, err } = await tidegate(['start', '--rls', '0'])
    expect([code, err.split(';')[0]]).toStrictEqual([2, 'rls.config: is missing'])
  })

  it('report files of TLS that do not have certificates', async () => {
    const limits = file('tls-content.yaml', 'domain: shop\n')
    const { cert, key } = makeCertificate()
    const [certFile, keyFile, other] = [file('a.crt', cert), file('a.key', key), file('other.pem', 'other')]
    const start = (...tls: string[]) =>
      tidegate(['start', '--port', '0', '--rls', '0', '--rls-config', limits, ...tls])
    const pair = 'certFile and keyFile of rls.tls must be a certificate chain and its private key, as PEM: '
    expect(await start('--rls-tls-cert', other, '--rls-tls-key', keyFile)).toMatchObject({
      code: 1,
      err: expect.stringContaining(pair),
    })
    const mutual = ['--rls-tls-cert', certFile, '--rls-tls-key', keyFile, '--rls-tls-ca', other]
    expect(await start(...mutual)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`clientCaFile of rls.tls must have a certificate, as PEM, got ${other}`),
    })
    const gateway = file(
      'gateway-tls.yaml',
      `gateway: { listen: { port: 0, tls: { certFile: ${certFile}, keyFile: ${other} } }, routes: [{ id: a, uri: 'http://127.0.0.1:1' }] }`,
    )
    expect(await tidegate(['start', '--port', '0', '--config', gateway])).toMatchObject({
      code: 1,
      err: expect.stringContaining(pair.replace('rls.tls', 'gateway.listen.tls')),
    })
  })

  it('report files of rls.tls that cannot be read, with the line', async () => {
    const limits = file('tls-limits.yaml', 'domain: shop\n')
    const cert = file('server.crt', 'certificate')
    const config = file(
      'rls-tls.yaml',
      `rls:\n  listen: 0\n  config: [${limits}]\n  tls:\n    certFile: ${cert}\n    keyFile: /nowhere.key\n    clientCaFile: /\n`,
    )
    expect(await tidegate(['validate', config])).toStrictEqual({
      code: 1,
      out: '',
      err: `${config}:6:14  rls.tls.keyFile: file not found\n${config}:7:19  rls.tls.clientCaFile: must be a file, but is a folder; write the path of a file in it\n`,
    })
  })
})
