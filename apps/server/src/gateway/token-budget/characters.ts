/** One token of English text or code has about four characters. */
export const CHARACTERS_PER_TOKEN = 4

export function estimatedTokens(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN)
}

/** Maximum number of characters to count for an image, document or recording in base64: about the tokens of a large image. */
export const MAX_BINARY_CHARACTERS = 1600 * CHARACTERS_PER_TOKEN
