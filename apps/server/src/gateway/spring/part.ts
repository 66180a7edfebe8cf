import type { Argument } from './argument.js'

/*
 * Predicates and filters are parts: a name, arguments, and a function of these. `config/part-reader.ts` reads them from the
 * file, in both spellings of Spring.
 */

export interface Part<Site, Made> {
  /** An example for messages. */
  readonly example: string
  /** By their names in Spring; a dot separates a group from the name. */
  readonly args: Readonly<Record<string, Argument<unknown>>>
  /** The arguments of a shortcut, in order. */
  readonly shortcut: readonly string[]
  /** Whether the last argument of a shortcut takes all remaining values. */
  readonly isList: boolean
  /** Whether values of a shortcut may be written as `name=value`. */
  readonly hasNamedShortcut: boolean
  /** Throws `invalid` if the arguments contradict each other or the route. */
  make(args: Readonly<Record<string, unknown>>, site: Site): Made
}

type ArgumentValues<Args> = {
  readonly [Name in keyof Args]: Args[Name] extends Argument<infer T> ? T : never
}

interface Definition<Args, Site, Made> {
  example: string
  args: Args
  /** Default: all of the args. */
  shortcut?: readonly (keyof Args & string)[]
  /** Default: false. */
  isList?: boolean
  /** Default: false. */
  hasNamedShortcut?: boolean
  make(args: ArgumentValues<Args>, site: Site): Made
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
  hasNamedShortcut = false,
  make,
}: Definition<Args, Site, Made>): Part<Site, Made> {
  return {
    example,
    args,
    shortcut,
    isList,
    hasNamedShortcut,
    make: (values, site) => make(values as ArgumentValues<Args>, site),
  }
}
