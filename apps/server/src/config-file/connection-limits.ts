import type { ConnectionLimits } from '../http/connection-guard.js'
import type { ConfigDocument } from './document.js'
import { optionOf } from './options.js'

/** Reads `connections` of the section at `path`: `[]` for the API, otherwise `['gateway']` or `['rls']`. */
export function readConnections(document: ConfigDocument, path: readonly string[]): ConnectionLimits {
  const option = optionOf(document)
  const max = option.wholeNumber(...path, 'connections', 'max')
  const at = [...path, 'connections', 'maxPerClient']
  const maxPerClient = (option.wholeNumber(...at) as number | undefined) ?? Math.max(1, Math.floor(max / 10))
  if (maxPerClient > max) {
    document.addError(at, `must be at most max (${max}), got ${maxPerClient}; write for example ${max}`)
  }
  return Object.freeze({ max, maxPerClient })
}
