import type { Measurement } from './figures.js'

/** The first column is text; the others are numbers, aligned right. */
export interface Table {
  title: string
  headings: readonly string[]
  rows: readonly (readonly string[])[]
}

/** The columns of a table after the name of the contender. */
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

export function asMarkdown(table: Table): string {
  return `### ${table.title}\n\n${rowsAsMarkdown(table)}`
}

/** The table without its title. */
export function rowsAsMarkdown({ headings, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rule = `|${headings.map((_, column) => (column === 0 ? '---' : '---:')).join('|')}|`
  return [line(headings), rule, ...rows.map(line)].join('\n')
}

/** A missing figure is shown as "-". */
export function digits(value: number | undefined, decimals: number): string {
  return value === undefined ? '-' : value.toLocaleString('en', fraction(decimals))
}

export function ratio(value: number | undefined): string {
  return value === undefined ? '-' : `${digits(value, 2)} x`
}

function fraction(digits: number) {
  return { minimumFractionDigits: digits, maximumFractionDigits: digits }
}
