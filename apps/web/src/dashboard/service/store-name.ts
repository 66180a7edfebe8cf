/** The display name of a kind of store. */
export function storeName(kind: string): string {
  return kind === 'redis' ? 'Redis' : kind
}
