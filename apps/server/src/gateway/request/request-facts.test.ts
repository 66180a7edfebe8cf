import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { defineProxies } from '@tidegate/http'
import { expect, it } from 'vitest'
import { peerFinder } from './peer.js'
import { GatewayRequestFacts } from './request-facts.js'

it.each(['__proto__', 'constructor', 'tostring', 'toString', 'hasOwnProperty'])(
  'has no header %s unless it was sent',
  (name) => {
    const proxies = defineProxies({})
    const socket = new Socket()
    const facts = new GatewayRequestFacts(
      new IncomingMessage(socket),
      { path: '/', query: '' },
      peerFinder(proxies)(socket),
      proxies,
      0,
    )
    expect(facts.header(name)).toBeUndefined()
  },
)
