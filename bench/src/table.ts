/** Prints rows under their headings: the first column is text, the others are numbers and stand to the right. */
export function printTable(headings: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => (row[column] ?? '').length)),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join('   ')
      .trimEnd()
  console.log(line(headings))
  console.log(widths.map((width) => '-'.repeat(width)).join('   '))
  for (const row of rows) console.log(line(row))
}
