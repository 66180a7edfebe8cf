import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { atEndOfTurn, sendTogether } from './end-of-turn.js'

const never = (error: unknown) => {
  throw error
}
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

it('does what came in one turn at its end, in order, and what comes meanwhile in the next', async () => {
  const done: string[] = []
  atEndOfTurn(() => {
    done.push('first')
    atEndOfTurn(() => done.push('third'), never)
  }, never)
  atEndOfTurn(() => done.push('second'), never)
  await Promise.resolve()
  expect(done).toStrictEqual([])
  await nextTurn()
  expect(done).toStrictEqual(['first', 'second'])
  await nextTurn()
  expect(done).toStrictEqual(['first', 'second', 'third'])
})

it('goes on with the others where one throws, and says what', async () => {
  const done: unknown[] = []
  const mistake = new Error('a mistake')
  atEndOfTurn(
    () => {
      throw mistake
    },
    (error) => done.push(error),
  )
  atEndOfTurn(() => done.push('second'), never)
  await nextTurn()
  expect(done).toStrictEqual([mistake, 'second'])
})

describe('answers on connections that send together', () => {
  let server: Server
  let responses: ServerResponse[]
  let url: string

  beforeEach(async () => {
    responses = []
    server = createServer((_request, response) => responses.push(response)).on('connection', sendTogether)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterEach(() => {
    server.close()
    server.closeAllConnections()
  })

  /** Asks on connections of their own, until all have arrived; in no particular order. */
  async function ask(count: number): Promise<{ bodies: Promise<string[]> }> {
    const asked = Array.from({ length: count }, () => fetch(url))
    const bodies = asked.map((answer) =>
      answer.then(
        (one) => one.text(),
        () => 'none',
      ),
    )
    while (responses.length < count) await nextTurn()
    return { bodies: Promise.all(bodies).then((all) => all.toSorted()) }
  }

  const unsent = () => responses.filter(({ socket }) => socket!.writableLength > 0).length

  it.each([
    ['of one piece', (response: ServerResponse) => response.writeHead(204).end(), ['', '', '']],
    [
      'of several',
      (response: ServerResponse, i: number) => response.end(`answer ${i}`),
      ['answer 0', 'answer 1', 'answer 2'],
    ],
  ])('%s are sent when the last of their turn is made, to each its own', async (_, answer, expected) => {
    const { bodies } = await ask(3)
    const unsentAfterEach: number[] = []
    responses.forEach((response, i) => {
      atEndOfTurn(() => {
        answer(response, i)
        unsentAfterEach.push(unsent())
      }, never)
    })
    expect(await bodies).toStrictEqual(expected)
    expect(unsentAfterEach).toStrictEqual([1, 2, 3])
  })

  it('are sent also where one is made of a mistake, and one has nobody left to go to', async () => {
    const { bodies } = await ask(3)
    const [first, second, third] = responses
    atEndOfTurn(() => {
      first!.end('to nobody')
      first!.socket!.destroy()
    }, never)
    atEndOfTurn(
      () => {
        throw new Error('a mistake')
      },
      (mistake) => second!.end((mistake as Error).message),
    )
    atEndOfTurn(() => third!.end('an answer'), never)
    expect(await bodies).toStrictEqual(['a mistake', 'an answer', 'none'])
  })

  it('are sent at once outside of such a turn, whatever they are made of', async () => {
    const { bodies } = await ask(2)
    responses[0]!.end('one piece: ü')
    responses[1]!.write('two pieces, ')
    responses[1]!.end(Buffer.from('and another'))
    expect(unsent()).toBe(0)
    expect(await bodies).toStrictEqual(['one piece: ü', 'two pieces, and another'])
  })
})
