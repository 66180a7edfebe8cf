/** About four characters are one token of English text or code. */
export const CHARACTERS_PER_TOKEN = 4

export function tokensOf(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN)
}
