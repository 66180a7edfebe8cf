import { usePage } from './page-context.js'

/** A parameter of the address and its setter; undefined removes the parameter. */
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
