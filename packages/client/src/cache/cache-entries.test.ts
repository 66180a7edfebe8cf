import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type CacheEntry, createEntries } from './cache-entries.js'

function entry(url: string, language: string | null, bytes: number): CacheEntry {
  return {
    url,
    vary: language === null ? [] : [['accept-language', language]],
    status: 200,
    statusText: 'OK',
    headers: new Headers({ 'x-language': language ?? '' }),
    body: new Uint8Array(bytes),
    receivedMs: 0,
    initialAgeMs: 0,
    lifetimeMs: 1000,
  }
}

it('stays within its bounds, counts its bytes, and finds only matching entries, for random operations', () => {
  const urls = fc.constantFrom('http://a.test/1', 'http://a.test/2', 'http://a.test/3')
  const languages = fc.constantFrom('de', 'ko', null)
  const steps = fc.array(
    fc.oneof(
      fc.record({ do: fc.constant('put' as const), url: urls, language: languages, bytes: fc.nat(3000) }),
      fc.record({ do: fc.constant('find' as const), url: urls, language: languages, bytes: fc.constant(0) }),
      fc.record({ do: fc.constant('drop' as const), url: urls, language: languages, bytes: fc.constant(0) }),
    ),
    { maxLength: 60 },
  )
  const property = fc.property(steps, (some) => {
    const entries = createEntries({ maxEntries: 4, maxBytes: 6000 })
    for (const step of some) {
      const { url, language } = step
      if (step.do === 'put') entries.put(entry(url, language, step.bytes))
      else if (step.do === 'drop') entries.drop(url)
      const headers = new Headers(language === null ? {} : { 'accept-language': language })
      const found = entries.find(url, headers)
      if (step.do === 'drop') expect(found).toBeUndefined()
      if (found !== undefined) {
        expect(found.url).toBe(url)
        expect(found.vary.length === 0 || found.headers.get('x-language') === language).toBe(true)
      }
      expect(entries.size).toBeLessThanOrEqual(4)
      expect(entries.bytes).toBeLessThanOrEqual(6000)
    }
    for (const url of new Set(some.map((step) => step.url))) entries.drop(url)
    expect([entries.size, entries.bytes]).toStrictEqual([0, 0])
  })
  fc.assert(property, { seed: 9111, numRuns: 500 })
})
