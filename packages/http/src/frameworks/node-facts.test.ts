import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { nodeReader } from './node-facts.js'

it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
  'has no header %s unless it was sent',
  (name) => {
    const reader = nodeReader<IncomingMessage>({
      message: (request) => request,
      url: () => '/',
      route: () => undefined,
    })
    const facts = reader.facts(new IncomingMessage(new Socket()), () => undefined, [])
    expect(facts.header(name)).toBeUndefined()
  },
)
