import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { errorBody, HttpError } from '../src/http/http-error.js'
import { configFile, type ServerProcess, startProcess } from './process.js'
import { root } from './program.js'
import { expositionAt } from './scrape.js'

// Runs the pages from top to bottom: a block of YAML is the configuration of a service, a block of shell is run, and it must
// print the block right after it.

const PAGES = [
  'README.md',
  'docs/operators/service.md',
  'docs/operators/api.md',
  'docs/operators/admin-api.md',
  'docs/operators/authentication.md',
  'docs/operators/monitoring.md',
]
const api = read('docs/operators/api.md')
const monitoring = read('docs/operators/monitoring.md')

const commands = PAGES.flatMap((name) => {
  const text = read(name)
  const blocks = text.matchAll(/^```sh\n([\s\S]*?)^```\n(?:\n```(http|json|text)\n([\s\S]*?)^```$)?/gm)
  return [...blocks].map(({ index, 1: command, 2: kind, 3: answer = '' }) => {
    const before = text.slice(0, index)
    const [, yaml = ''] = [...before.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].at(-1) ?? []
    // A separate service for each page, so that one does not use up the limits of the other.
    const file = `${yaml}# ${name}\n`
    return { title: `${name}, line ${before.split('\n').length}`, file, command: command!, kind, answer }
  })
})

const TOKENS = { ADMIN_TOKEN: 'the-token-of-the-admin', SHOP_TOKEN: 'the-token-of-the-shop' }

let service: ServerProcess | undefined
let servedFile: string | undefined

/** The service with this file. It keeps running while the file stays the same. */
async function serviceWith(file: string): Promise<ServerProcess> {
  if (service !== undefined && servedFile === file) return service
  await service?.stop()
  const { path, remove } = configFile(file)
  try {
    service = await startProcess(['--config', path], TOKENS)
    servedFile = file
    return service
  } finally {
    remove()
  }
}
afterAll(() => service?.stop())

describe('the pages about the service', () => {
  it('have commands to run', () => {
    expect(commands.length).toBeGreaterThan(15)
    expect(commands.filter(({ kind }) => kind === undefined)).toStrictEqual([])
  })

  it.each(commands)('$title: prints the output on the page', async ({ file, command, kind, answer }) => {
    const { url } = await serviceWith(file)
    const printed = await run(command.replaceAll('http://127.0.0.1:8080', url), url)
    if (kind === 'text') expect(withoutNumbers(printed.trim())).toBe(withoutNumbers(answer.trim()))
    else if (kind === 'json') expectAlike(JSON.parse(printed), JSON.parse(answer))
    else expectAnswer(printed, answer)
  })

  it('list every route, and no other', async () => {
    const { url } = await serviceWith('')
    const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> }
    const [table = ''] = api.split('\n## Routes\n')[1]!.split('\n## ')
    const named = [...table.matchAll(/^\| (.+?) \|/gm)].flatMap(([, cell]) => [
      ...cell!.matchAll(/`(\/.*?)`/g),
    ])
    const routes = named.map((match) => match[1]!)
    expect(routes).toEqual(expect.arrayContaining(Object.keys(paths)))
    for (const path of routes) {
      const { status } = await fetch(url + path, { method: 'OPTIONS' })
      // Forward-auth accepts every method, of trusted proxies.
      expect(status, path).toBe(path === '/api/v1/forward-auth' ? 403 : 405)
    }
  })

  it('have the names of all errors', () => {
    const [table = ''] = api.split('\n## Errors\n')[1]!.split('\n## ')
    const shown = [...table.matchAll(/^\| ([\d, ]+) \| ([^|]+) \|/gm)].flatMap(([, statuses, errors]) =>
      statuses!.split(', ').map((status, i) => [Number(status), codes(errors!)[i]]),
    )
    // The last one is in a response on the page.
    for (const [status, error] of shown.slice(0, -1)) {
      expect(errorBody(new HttpError(Number(status), '')).error).toBe(error)
    }
    expect(shown).toHaveLength(14)
  })

  it('have every metric in a table, with its type and labels', async () => {
    const { url } = await serviceWith('')
    const { types, samples } = await expositionAt(url)
    const rows = [
      ...monitoring.matchAll(/^\| (`\w+`(?:, `\w+`)*) \| (counter|gauge|histogram) \| ([^|]*?) ?\|/gm),
    ]
    const shown = rows.flatMap(([, names, type, labels]) =>
      codes(names!).map((name) => ({ name, type: type!, labels: codes(labels!).sort() })),
    )
    const real = [...types].map(([name, type]) => {
      const all = samples.filter((sample) => [name, `${name}_count`].includes(sample.name))
      return { name, type: type.toLowerCase(), labels: Object.keys(all[0]!.labels).sort() }
    })
    const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name)
    expect(shown.sort(byName)).toStrictEqual(real.sort(byName))
  })
})

function read(name: string): string {
  return readFileSync(join(root, name), 'utf8')
}

function run(command: string, url: string): Promise<string> {
  const { PATH = '' } = process.env
  const env = { PATH, ...TOKENS, TIDEGATE_URL: url, HOME: process.env.HOME }
  // Without progress and error output. Some commands are about the exit code of a denied request.
  return new Promise((resolve) => {
    execFile('sh', ['-c', command], { env, cwd: root }, (_error, stdout) => resolve(stdout))
  })
}

/** A status line, headers, and a body. The response may have more headers than the page shows. */
function expectAnswer(printed: string, shown: string): void {
  const [printedHead = '', ...printedBody] = printed.replaceAll('\r', '').split('\n\n')
  const [head = '', ...body] = shown.split('\n\n')
  const [status, ...headers] = head.split('\n')
  const real = printedHead.split('\n')
  expect(real[0]).toBe(status)
  const realHeaders = real.map(withoutNumbers)
  for (const header of headers) {
    if (header.startsWith('x-request-id:')) expect(printedHead).toMatch(/^x-request-id: \S+$/m)
    else expect(realHeaders).toContain(withoutNumbers(header))
  }
  expectAlike(JSON.parse(printedBody.join('\n\n')), JSON.parse(body.join('\n\n')))
}

/** The same except for values that depend on the time: waits, and refilled units. */
function expectAlike(real: unknown, shown: unknown, at = 'the response'): void {
  if (typeof shown !== 'object' || shown === null) {
    const dependsOnTime = /(Seconds|Ms)$/.test(at) && shown !== null
    if (dependsOnTime) expect(real, at).toBeTypeOf('number')
    else if (at.endsWith('.remaining') && shown !== null)
      expect(Math.abs(Number(real) - Number(shown)), at).toBeLessThan(2)
    else expect(real, at).toBe(shown)
    return
  }
  expect(Object.keys(real as object), at).toStrictEqual(Object.keys(shown))
  for (const [name, value] of Object.entries(shown)) {
    expectAlike((real as Record<string, unknown>)[name], value, `${at}.${name}`)
  }
}

function withoutNumbers(text: string): string {
  return text.replaceAll(/\d+/g, '0')
}

function codes(text: string): string[] {
  return [...text.matchAll(/`(\w+)`/g)].map((match) => match[1]!)
}
