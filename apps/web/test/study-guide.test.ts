import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readSettings } from '../src/lab/compare/compare-settings.js'
import { parsePlace } from '../src/page/address.js'
import { STORY_IDS } from '../src/simulation/stories.js'
import { WORDS } from '../src/words/words.js'

const guides = { en: textOf('study-guide.md'), ko: textOf('study-guide.ko.md') }

function textOf(name: string): string {
  return readFileSync(new URL(`../../../docs/users/${name}`, import.meta.url), 'utf8')
}

/** The addresses in the lab, such as `#/compare?traffic=steady`. */
function addressesIn(text: string): string[] {
  return [...text.matchAll(/`(#\/[^`]*)`/g)].map(([, address]) => address!)
}

describe('the study guide', () => {
  const addresses = addressesIn(guides.en)

  it.each(addresses)('%s has only settings that the lab accepts', (address) => {
    const { view, params } = parsePlace(address)
    if (view === 'stories') expect(STORY_IDS).toContain(params.get('story'))
    else expect(['compare', 'choose']).toContain(view)
    if (view !== 'compare') return
    const settings: Record<string, unknown> = { ...readSettings(params) }
    for (const [name, value] of params) {
      if (name === 't') expect(value).toMatch(/^\d+$/)
      else if (name === 'show') expect(Object.keys(WORDS.en.compare.shown)).toContain(value)
      else expect([name, String(settings[name])]).toStrictEqual([name, value])
    }
  })

  it('has every story, and the same addresses in both languages', () => {
    const stories = addresses.flatMap((address) => parsePlace(address).params.get('story') ?? [])
    expect(stories.toSorted()).toStrictEqual([...STORY_IDS].sort())
    expect(addressesIn(guides.ko)).toStrictEqual(addresses)
  })

  it.each(['en', 'ko'] as const)('uses the names of the page, in %s', (language) => {
    const { compare, concurrency, lab, dashboard } = WORDS[language]
    const names = [
      compare.kinds.boundary,
      compare.kinds.drawn,
      lab.play,
      compare.numbers.capacity,
      compare.numbers.limit,
      lab.released(6000),
      concurrency.numbers.duration,
      dashboard.views.race,
      dashboard.race.start,
    ]
    const missing = names.map((name) => `*${name.replaceAll('\u00a0', ' ')}*`)
    expect(missing.filter((name) => !guides[language].includes(name))).toStrictEqual([])
  })
})
