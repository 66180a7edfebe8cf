import { useMemo } from 'preact/hooks'
import { usePage } from '../page/page-context.js'

/** Parameters that are not settings: the time, and those that change only the appearance. */
const KEPT: readonly string[] = ['lang', 'speed', 'hide']

/**
 * The settings of Compare in the address, and a function that changes some of them. They are read again only if a setting has
 * changed, so that a moving clock does not repeat a simulation. Successive edits of one number or drawing share an entry of
 * the history.
 */
export function useSettings<S extends object>(
  read: (params: ReadonlyMap<string, string>) => S,
  write: (settings: S) => Map<string, string>,
): [settings: S, change: (changes: Partial<S>, isEdit?: boolean) => void] {
  const { place, go } = usePage()
  const key = [...place.params].filter(([name]) => name !== 't' && !KEPT.includes(name)).join('&')
  const settings = useMemo(() => read(place.params), [key])
  const change = (changes: Partial<S>, isEdit = Object.values(changes).every(changesInSteps)) => {
    const params = write({ ...settings, ...changes })
    for (const name of KEPT) {
      const value = place.params.get(name)
      if (value !== undefined) params.set(name, value)
    }
    go({ view: 'compare', params }, isEdit ? { edit: Object.keys(changes).join() } : 'push')
  }
  return [settings, change]
}

/** Numbers and drawings change in steps; the other settings are single choices. */
const changesInSteps = (value: unknown) => typeof value === 'number' || Array.isArray(value)
