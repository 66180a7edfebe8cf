import { expect, it } from 'vitest'
import { asMarkdown, asText, digits, ratio } from './table.js'

it('a table has the same cells in text and in Markdown', () => {
  const table = { title: 'Speed', headings: ['', 'checks/s'], rows: [['tidegate', '1,000']] }
  expect(asText(table)).toBe('\nSpeed\n\n           checks/s\n--------   --------\ntidegate      1,000')
  expect(asMarkdown(table)).toBe('### Speed\n\n|  | checks/s |\n|---|---:|\n| tidegate | 1,000 |')
})

it('shows a missing figure as "-"', () => {
  expect([digits(undefined, 2), ratio(undefined)]).toEqual(['-', '-'])
  expect([digits(1234.5, 1), ratio(1.5)]).toEqual(['1,234.5', '1.50 x'])
})
