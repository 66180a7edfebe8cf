/** The characters that may follow `Bearer ` in a header. */
export const TOKEN_PATTERN = '^[!-~]+$'

/** Shorter tokens can be guessed over the network. */
export const MIN_TOKEN_LENGTH = 16

export const TOKEN_TOO_SHORT = `must have at least ${MIN_TOKEN_LENGTH} characters; make one with: openssl rand -base64 24`

export const TOKEN_CHARACTERS = 'must consist of visible ASCII characters without spaces'

/** Describes what is wrong with a token, without its value; undefined if it is valid. */
export function tokenProblem(token: string): string | undefined {
  if (!new RegExp(TOKEN_PATTERN).test(token)) return TOKEN_CHARACTERS
  return token.length < MIN_TOKEN_LENGTH ? TOKEN_TOO_SHORT : undefined
}
