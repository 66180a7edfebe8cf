/** The entries of a list, or of a string separated by commas, without empty entries. */
export function commaList(value: unknown): string[] {
  const items = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value.map(String) : []
  return items.map((item) => item.trim()).filter((item) => item !== '')
}
