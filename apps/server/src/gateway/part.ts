import type { Argument } from './argument.js'

/*
 * Predicates and filters are parts: a name in the file, the values it takes, and what is made of them. `config/part.ts`
 * reads them, in both of Spring's spellings.
 */

export interface Part<Site, Made> {
  /** One as it may stand in a file. */
  readonly example: string
  /** By their names in Spring; those with a dot are grouped. */
  readonly args: Readonly<Record<string, Argument<unknown>>>
  /** Which of them a shortcut gives, in this order. */
  readonly shortcut: readonly string[]
  /** The last of them takes all the values that are left. */
  readonly isList: boolean
  /** Throws `unfit` if values do not fit together, or do not fit the place. */
  make(args: Readonly<Record<string, unknown>>, site: Site): Made
}

type Given<Args> = { readonly [Name in keyof Args]: Args[Name] extends Argument<infer T> ? T : never }

interface Definition<Args, Site, Made> {
  example: string
  args: Args
  /** Default: all of the args. */
  shortcut?: readonly (keyof Args & string)[]
  /** Default: false. */
  isList?: boolean
  make(args: Given<Args>, site: Site): Made
}

/** Makes parts of one kind. */
export type Definer<Site, Made> = <Args extends Record<string, Argument<unknown>>>(
  definition: Definition<Args, Site, Made>,
) => Part<Site, Made>

export function definePart<Args extends Record<string, Argument<unknown>>, Site, Made>({
  example,
  args,
  shortcut = Object.keys(args),
  isList = false,
  make,
}: Definition<Args, Site, Made>): Part<Site, Made> {
  return { example, args, shortcut, isList, make: (given, site) => make(given as Given<Args>, site) }
}
