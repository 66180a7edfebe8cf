const KEY = 'tidegate-admin-token'

/** In this tab only, and gone with it. Where storage is turned off, it lasts as long as the page. */
let kept: string | undefined

export function readToken(): string | undefined {
  try {
    return kept ?? sessionStorage.getItem(KEY) ?? undefined
  } catch {
    return kept
  }
}

export function writeToken(token: string | undefined): void {
  kept = token
  try {
    if (token === undefined) sessionStorage.removeItem(KEY)
    else sessionStorage.setItem(KEY, token)
  } catch {
    // As above
  }
}
