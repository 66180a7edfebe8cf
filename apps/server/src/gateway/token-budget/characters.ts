/** One token of English text or code has about four characters. */
export const CHARACTERS_PER_TOKEN = 4

export function tokensOf(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN)
}
