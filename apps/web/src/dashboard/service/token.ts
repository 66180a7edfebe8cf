import { formatPlace, parsePlace } from '../../page/address.js'

const KEY = 'tidegate-admin-token'

/** Fallback if storage is disabled: the token lasts until the page is left. */
let memoryToken: string | undefined

export function readToken(): string | undefined {
  try {
    return memoryToken ?? sessionStorage.getItem(KEY) ?? undefined
  } catch {
    return memoryToken
  }
}

export function writeToken(token: string | undefined): void {
  memoryToken = token
  try {
    if (token === undefined) sessionStorage.removeItem(KEY)
    else sessionStorage.setItem(KEY, token)
  } catch {
    // Storage is disabled.
  }
}

/** Moves the token of a link that the service logs, such as `#/?token=…`, from the address to this tab. */
export function adoptTokenFromAddress(): boolean {
  const { view, params } = parsePlace(location.hash)
  const token = params.get('token')
  if (token === undefined) return false
  writeToken(token)
  const others = new Map([...params].filter(([name]) => name !== 'token'))
  history.replaceState(null, '', formatPlace({ view, params: others }))
  return true
}
