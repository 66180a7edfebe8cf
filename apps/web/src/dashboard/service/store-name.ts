import type { Words } from '../../words/words.js'

/** The display name of a kind of store. Kinds without one are shown as they are. */
export function storeName(kind: string, { live }: Words['dashboard']): string {
  return kind === 'redis' || kind === 'memory' ? live.stores[kind] : kind
}
