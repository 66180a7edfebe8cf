import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { usePage } from './page-context.js'

/** A component whose files are loaded when it is first shown. */
export function lazy(load: () => Promise<ComponentType>): ComponentType {
  let loaded: ComponentType | undefined
  return function Lazy() {
    const { words } = usePage()
    const [state, setState] = useState<'loading' | 'loaded' | 'failed'>(loaded ? 'loaded' : 'loading')
    useEffect(() => {
      if (loaded !== undefined) return
      load().then(
        (component) => {
          loaded = component
          setState('loaded')
        },
        () => setState('failed'),
      )
    }, [])
    if (state === 'failed') return <p role="alert">{words.shell.loadFailed}</p>
    const Loaded = loaded
    return Loaded === undefined ? null : <Loaded />
  }
}
