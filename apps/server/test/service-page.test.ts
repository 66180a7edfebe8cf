import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ApiError, errorBody } from '../src/api/api-error.js'
import { expositionAt } from './metrics.js'
import { configFile, type ServerProcess, startProcess } from './process.js'
import { root } from './program.js'

// These pages are read from top to bottom as a reader would: a block of YAML is a service that is started with it, a
// block of shell is run, and the block right after it is what it must print.

const page = read('docs/service.md')

const commands = ['README.md', 'docs/service.md'].flatMap((name) => {
  const text = read(name)
  const blocks = text.matchAll(/^```sh\n([\s\S]*?)^```\n(?:\n```(http|json|text)\n([\s\S]*?)^```$)?/gm)
  return [...blocks].map(({ index, 1: command, 2: kind, 3: answer = '' }) => {
    const before = text.slice(0, index)
    const [, yaml = ''] = [...before.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].at(-1) ?? []
    // A service of its own for each page: what one has used up is not gone for the other.
    const file = `${yaml}# ${name}\n`
    return { title: `${name}, line ${before.split('\n').length}`, file, command: command!, kind, answer }
  })
})

const TOKENS = { ADMIN_TOKEN: 'the-token-of-the-admin', SHOP_TOKEN: 'the-token-of-the-shop' }

let service: ServerProcess | undefined
let servedFile: string | undefined

/** The service with this file: the one that runs, if it has it. */
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

  it.each(commands)('$title: what is answered is what is shown', async ({ file, command, kind, answer }) => {
    const { url } = await serviceWith(file)
    const printed = await run(command.replaceAll('http://127.0.0.1:8080', url), url)
    if (kind === 'text') expect(withoutNumbers(printed.trim())).toBe(withoutNumbers(answer.trim()))
    else if (kind === 'json') expectAlike(JSON.parse(printed), JSON.parse(answer))
    else expectAnswer(printed, answer)
  })

  it('name every route, and none that is not there', async () => {
    const { url } = await serviceWith('')
    const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> }
    const [table = ''] = page.split('\n## Routes\n')[1]!.split('\n## ')
    const named = [...table.matchAll(/^\| (.+?) \|/gm)].flatMap(([, cell]) => [
      ...cell!.matchAll(/`(\/.*?)`/g),
    ])
    const routes = named.map((match) => match[1]!)
    expect(routes).toEqual(expect.arrayContaining(Object.keys(paths)))
    for (const path of routes) {
      const { status } = await fetch(url + path, { method: 'OPTIONS' })
      expect(status, path).toBe(405)
    }
  })

  it('have every error by its right name', () => {
    const [table = ''] = page.split('\n## Errors\n')[1]!.split('\n## ')
    const shown = [...table.matchAll(/^\| ([\d, ]+) \| ([^|]+) \|/gm)].flatMap(([, statuses, errors]) =>
      statuses!.split(', ').map((status, i) => [Number(status), codes(errors!)[i]]),
    )
    // The last is in an answer on the page.
    for (const [status, error] of shown.slice(0, -1)) {
      expect(errorBody(new ApiError(Number(status), '')).error).toBe(error)
    }
    expect(shown).toHaveLength(14)
  })

  it('have every metric in a table, with its type and labels', async () => {
    const { url } = await serviceWith('')
    const { types, samples } = await expositionAt(url)
    const rows = [...page.matchAll(/^\| (`\w+`(?:, `\w+`)*) \| (counter|gauge|histogram) \| ([^|]*?) ?\|/gm)]
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
  // Its meter and its complaints go elsewhere; that a refusal is no success is what some commands are about.
  return new Promise((resolve) => {
    execFile('sh', ['-c', command], { env, cwd: root }, (_error, stdout) => resolve(stdout))
  })
}

/** A status line, headers of which those that are shown must be there, and a body. */
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

/** The same but for what depends on the moment: waits, and what has come back since. */
function expectAlike(real: unknown, shown: unknown, at = 'the answer'): void {
  if (typeof shown !== 'object' || shown === null) {
    const isOfTheMoment = /(Seconds|Ms)$/.test(at) && shown !== null
    if (isOfTheMoment) expect(real, at).toBeTypeOf('number')
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
