import { REPEATED_CHOICE, repeatsChoice } from '../config/repeated-choice.js'

/*
 * Expressions in a Spring file are Java's. Most mean the same here; with the flag `u`, what JavaScript does not know
 * is an error and not something else.
 */

/** The expression, or why there is none. */
export function javaRegExp(source: string): RegExp | { readonly problem: string } {
  const [, inline = '', body = ''] = /^(?:\(\?([ims]+)\))?([\s\S]*)$/.exec(source)!
  try {
    const made = new RegExp(withoutNeedlessEscapes(body), `u${[...new Set(inline)].join('')}`)
    return repeatsChoice(made.source) ? { problem: REPEATED_CHOICE } : made
  } catch (error) {
    const why = String((error as Error).message)
      .split(': ')
      .at(-1)!
    return { problem: `${why.slice(0, 1).toLowerCase()}${why.slice(1)}` }
  }
}

/** The same for a whole text, which is what Spring asks of headers, cookies and queries. */
export function wholly({ source, flags }: RegExp): RegExp {
  return new RegExp(`^(?:${source})$`, flags)
}

/** In Java every sign may be escaped, with `u` only those that mean something. */
function withoutNeedlessEscapes(source: string): string {
  return source.replace(/\\(.)/gs, (written, sign: string) => {
    // Only in brackets may it be escaped as such.
    if (sign === '-') return '\\x2d'
    return /[\w^$\\.*+?()[\]{}|/]/.test(sign) ? written : sign
  })
}
