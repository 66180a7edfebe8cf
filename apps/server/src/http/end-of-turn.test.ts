import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { atEndOfTurn, sendTogether } from './end-of-turn.js'

const never = (error: unknown) => {
  throw error
}
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

it('runs the actions of one turn at its end, in order, and later ones in the next turn', async () => {
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

it('runs the other actions if one throws, and reports the error', async () => {
  const done: unknown[] = []
  const failure = new Error('failed')
  atEndOfTurn(
    () => {
      throw failure
    },
    (error) => done.push(error),
  )
  atEndOfTurn(() => done.push('second'), never)
  await nextTurn()
  expect(done).toStrictEqual([failure, 'second'])
})

describe('responses on connections that send together', () => {
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

  /** Sends requests on separate connections, and waits until all have arrived, in any order. */
  async function ask(count: number): Promise<{ bodies: Promise<string[]> }> {
    const sent = Array.from({ length: count }, () => fetch(url))
    const bodies = sent.map((answer) =>
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
    ['of one chunk', (response: ServerResponse) => response.writeHead(204).end(), ['', '', '']],
    [
      'of several chunks',
      (response: ServerResponse, i: number) => response.end(`answer ${i}`),
      ['answer 0', 'answer 1', 'answer 2'],
    ],
  ])(
    '%s are sent when the last one of the turn is written, each to its client',
    async (_, answer, expected) => {
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
    },
  )

  it('are sent even if one fails and the client of another has disconnected', async () => {
    const { bodies } = await ask(3)
    const [first, second, third] = responses
    atEndOfTurn(() => {
      first!.end('unread')
      first!.socket!.destroy()
    }, never)
    atEndOfTurn(
      () => {
        throw new Error('failed')
      },
      (failure) => second!.end((failure as Error).message),
    )
    atEndOfTurn(() => third!.end('an answer'), never)
    expect(await bodies).toStrictEqual(['an answer', 'failed', 'none'])
  })

  it('are sent at once outside of a batch', async () => {
    const { bodies } = await ask(2)
    responses[0]!.end('one piece: ü')
    responses[1]!.write('two pieces, ')
    responses[1]!.end(Buffer.from('and another'))
    expect(unsent()).toBe(0)
    expect(await bodies).toStrictEqual(['one piece: ü', 'two pieces, and another'])
  })
})
