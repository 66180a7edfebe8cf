import type { Measurement } from './figures.js'

/** The first column is text, the others are numbers and stand to the right. */
export interface Table {
  title: string
  headings: readonly string[]
  rows: readonly (readonly string[])[]
}

/** What a table shows of each measurement, beside the contender's name. */
export interface Columns {
  headings: string[]
  row(of: Measurement): string[]
}

export function asText({ title, headings, rows }: Table): string {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => (row[column] ?? '').length)),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join('   ')
      .trimEnd()
  const rule = widths.map((width) => '-'.repeat(width)).join('   ')
  return ['', title, '', line(headings), rule, ...rows.map(line)].join('\n')
}

export function asMarkdown({ title, headings, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rule = `|${headings.map((_, column) => (column === 0 ? '---' : '---:')).join('|')}|`
  return [`### ${title}`, '', line(headings), rule, ...rows.map(line)].join('\n')
}

/** A figure that was not measured is shown as such. */
export function digits(value: number | undefined, decimals: number): string {
  return value === undefined ? '-' : value.toLocaleString('en', fraction(decimals))
}

export function ratio(value: number): string {
  return `${digits(value, 2)} x`
}

function fraction(digits: number) {
  return { minimumFractionDigits: digits, maximumFractionDigits: digits }
}
