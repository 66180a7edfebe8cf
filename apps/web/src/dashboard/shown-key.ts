/**
 * A key as it is displayed. Bidirectional control characters are escaped, because they could make a key look like
 * another one or reorder the text around it.
 */
export function shownKey(key: string): string {
  return key.replace(/\p{Bidi_Control}/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
  })
}
