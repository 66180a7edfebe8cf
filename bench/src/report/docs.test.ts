import { expect, it } from 'vitest'
import { replaceSection } from './docs.js'

const PAGE = `# Title

<!-- figures: core -->
old
<!-- end of figures: core -->

Between.

<!-- figures: redis -->
<!-- end of figures: redis -->
`

it('replaces only the text between the marks', () => {
  const page = replaceSection(PAGE, 'core', 'new, with $& and $1')
  expect(page).toBe(PAGE.replace('\nold\n', () => '\n\nnew, with $& and $1\n\n'))
  expect(replaceSection(page, 'redis', 'more')).toContain('redis -->\n\nmore\n\n<!-- end of figures: redis')
})

it('replacing twice gives the same page as replacing once', () => {
  const once = replaceSection(PAGE, 'core', 'new')
  expect(replaceSection(once, 'core', 'new')).toBe(once)
})

it.each([
  ['no marks', '# Title'],
  ['no end', '<!-- figures: core -->\n'],
  ['two beginnings', `${PAGE}<!-- figures: core -->\n`],
  ['the end first', '<!-- end of figures: core -->\n<!-- figures: core -->\n'],
])('rejects a page with %s', (_, page) => {
  expect(() => replaceSection(page, 'core', 'new')).toThrow('once each, in this order')
})
