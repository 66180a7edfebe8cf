import { usePage } from './page-context.js'

/** One parameter of the address, and how to change it; undefined takes it out. */
export function useParam(name: string): [string | undefined, (value: string | undefined) => void] {
  const { place, go } = usePage()
  const change = (value: string | undefined) => {
    const params = new Map(place.params)
    if (value === undefined) params.delete(name)
    else params.set(name, value)
    go({ ...place, params }, 'replace')
  }
  return [place.params.get(name), change]
}
