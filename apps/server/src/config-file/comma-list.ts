/** The texts of a list, or of one text with commas between them. Empty texts are left out. */
export function commaList(value: unknown): string[] {
  const items = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value.map(String) : []
  return items.map((item) => item.trim()).filter((item) => item !== '')
}
