import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHECK, startService, type TestService } from '../../../test/start-service.js'
import { createApp } from '../app.js'

describe('the key of a check without one', () => {
  let service: TestService
  let app: Awaited<ReturnType<typeof createApp>>
  const start = async (yaml: string) => {
    service = await startService(yaml)
    app = await createApp(service.service)
  }
  const stop = async () => {
    await app?.close()
    await service?.close()
  }
  const keyFor = async (remoteAddress: string, headers: Record<string, string>) => {
    const { statusCode, json } = await app.inject({ url: CHECK, remoteAddress, headers })
    expect(statusCode).toBe(200)
    return json().key
  }

  describe('without trusted proxies', () => {
    beforeAll(() => start(''))
    afterAll(stop)

    it('is the peer over a real connection', async () => {
      expect((await service.get(CHECK)).body.key).toBe('ip:127.0.0.1')
    })

    it.each([
      ['192.0.2.7', 'ip:192.0.2.7'],
      ['::ffff:192.0.2.7', 'ip:192.0.2.7'],
      ['2001:db8:1:2:3:4:5:6', 'ip:2001:db8:1:2::/64'],
      ['2001:DB8:1:2::9', 'ip:2001:db8:1:2::/64'],
    ])('%s is %s, whatever headers it sends', async (peer, key) => {
      expect(await keyFor(peer, {})).toBe(key)
      expect(await keyFor(peer, { 'x-forwarded-for': '198.51.100.1', 'x-real-ip': '198.51.100.2' })).toBe(key)
      expect(await keyFor(peer, { forwarded: 'for=198.51.100.1' })).toBe(key)
    })
  })

  describe('with trusted proxies', () => {
    beforeAll(() => start('trustedProxies: [10.0.0.0/8, "::1"]\nipv6Prefix: 56'))
    afterAll(stop)

    it.each<[string, string, Record<string, string>, string]>([
      [
        'the last address that is not trusted',
        '10.0.0.1',
        { 'x-forwarded-for': '1.1.1.1, 2.2.2.2, 10.9.9.9' },
        'ip:2.2.2.2',
      ],
      ['X-Real-IP if it is the only header', '10.0.0.1', { 'x-real-ip': '3.3.3.3' }, 'ip:3.3.3.3'],
      [
        'not X-Real-IP if there is X-Forwarded-For',
        '10.0.0.1',
        { 'x-real-ip': '3.3.3.3', 'x-forwarded-for': '2.2.2.2' },
        'ip:2.2.2.2',
      ],
      ['the peer, if it is not trusted', '192.0.2.7', { 'x-forwarded-for': '1.1.1.1' }, 'ip:192.0.2.7'],
      [
        'the nearest hop, if an entry is not an address',
        '10.0.0.1',
        { 'x-forwarded-for': '1.1.1.1, junk, 10.2.2.2' },
        'ip:10.2.2.2',
      ],
      [
        'the peer, if the nearest is not an address',
        '10.0.0.1',
        { 'x-forwarded-for': '1.1.1.1, junk' },
        'ip:10.0.0.1',
      ],
      ['the peer, without forwarding headers', '10.0.0.1', {}, 'ip:10.0.0.1'],
      [
        'an IPv6 client by its network',
        '::1',
        { 'x-forwarded-for': '2001:db8:1:2fff::1' },
        'ip:2001:db8:1:2f00::/56',
      ],
      [
        'not Forwarded, which is not the configured header',
        '10.0.0.1',
        { forwarded: 'for=1.1.1.1' },
        'ip:10.0.0.1',
      ],
    ])('is %s', async (_title, peer, headers, key) => {
      expect(await keyFor(peer, headers)).toBe(key)
    })
  })

  describe('behind proxies that write Forwarded', () => {
    beforeAll(() => start('trustedProxies: [10.0.0.0/8]\nforwardedHeader: forwarded'))
    afterAll(stop)

    it.each([
      ['for=1.1.1.1;proto=http, for="2.2.2.2:80"', 'ip:2.2.2.2'],
      ['for=1.1.1.1, for=unknown', 'ip:10.0.0.1'],
      ['for=1.1.1.1, for=_hidden', 'ip:10.0.0.1'],
      ['for="[2001:db8::1]:4711"', 'ip:2001:db8::/64'],
    ])('%s is %s', async (forwarded, key) => {
      expect(await keyFor('10.0.0.1', { forwarded, 'x-forwarded-for': '9.9.9.9' })).toBe(key)
    })
  })
})
