/** A member of a list (`"per-user";r=50`, `100;w=60`) or of a dictionary (`limit=100`). */
export interface Member {
  /** The text of a list item, or the key of a dictionary member. */
  readonly name: string
  /** The value of a dictionary member. */
  readonly value: string | undefined
  readonly parameters: ReadonlyMap<string, string>
}

/** Strings, tokens, keys, numbers, byte sequences and booleans: the part of RFC 9651 that quotas use. */
const STRING = /"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"/y
const UNQUOTED_ITEM = /[A-Za-z*][\w.:/!#$%&'*+^`|~-]*|-?\d{1,15}(?:\.\d{1,3})?|:[A-Za-z0-9+/=]*:|\?[01]/y
const SPACES = /[ \t]*/y

/** The members of a list or dictionary; undefined if any part is malformed, as the RFC requires. */
export function parseMembers(text: string): Member[] | undefined {
  const members: Member[] = []
  let at = 0

  function match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found !== null) at = pattern.lastIndex
    return found
  }
  function item(): string | undefined {
    const quoted = match(STRING)
    return quoted === null ? match(UNQUOTED_ITEM)?.[0] : quoted[1]!.replace(/\\(.)/g, '$1')
  }
  function next(character: string): boolean {
    if (text[at] !== character) return false
    at++
    return true
  }

  for (;;) {
    match(SPACES)
    const name = item()
    if (name === undefined) return undefined
    const value = next('=') ? item() : undefined
    if (value === undefined && text[at - 1] === '=') return undefined
    const parameters = new Map<string, string>()
    while (next(';')) {
      match(SPACES)
      const key = match(UNQUOTED_ITEM)?.[0]
      if (key === undefined) return undefined
      const parameter = next('=') ? item() : '?1'
      if (parameter === undefined) return undefined
      parameters.set(key, parameter)
    }
    members.push({ name, value, parameters })
    match(SPACES)
    if (at === text.length) return members
    if (!next(',')) return undefined
  }
}
