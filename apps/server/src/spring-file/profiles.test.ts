import { describe, expect, it } from 'vitest'
import { matchesProfiles } from './profiles.js'

describe('the profiles of a document', () => {
  const active = new Set(['prod', 'eu'])
  it.each([
    ['prod', true],
    ['dev', false],
    ['dev, prod', true],
    ['!dev', true],
    ['!prod', false],
    ['!!prod', true],
    ['prod & eu', true],
    ['prod & us', false],
    ['dev | eu', true],
    ['prod & (us | eu)', true],
    ['!(prod & eu)', false],
  ])('%s: %s', (condition, applies) => {
    expect(matchesProfiles(condition, active)).toBe(applies)
  })

  it.each(['', 'prod &', '(prod', 'prod)', 'prod & eu | dev', '& prod', '!', 'prod dev', '('.repeat(1000)])(
    '%j is not valid',
    (condition) => {
      expect(matchesProfiles(condition, active)).toBeUndefined()
    },
  )
})
