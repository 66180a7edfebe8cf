import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { defineProxies } from '@tidegate/http'
import { expect, it } from 'vitest'
import { peersBy } from './peer.js'
import { RequestFactsOf } from './request-facts.js'

it.each(['__proto__', 'constructor', 'tostring', 'toString', 'hasOwnProperty'])(
  'has no header %s that nobody has sent',
  (name) => {
    const proxies = defineProxies({})
    const socket = new Socket()
    const facts = new RequestFactsOf(
      new IncomingMessage(socket),
      { path: '/', query: '' },
      peersBy(proxies)(socket),
      proxies,
      0,
    )
    expect(facts.header(name)).toBeUndefined()
  },
)
