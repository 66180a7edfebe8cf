/**
 * A key for people to read. What turns the direction of text is written out: a key with it would look like somebody
 * else's, and turn around the question that it stands in.
 */
export function shownKey(key: string): string {
  return key.replace(/\p{Bidi_Control}/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
  })
}
