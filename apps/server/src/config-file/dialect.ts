import type { Document } from 'yaml'
import type { Path } from './config-error.js'
import type { JsonSchema } from './json-schema.js'
import type { ReplacementResult } from './variables.js'

/** Reads files that were written for another program. Returns undefined for other files. */
export type Dialect = (
  documents: readonly Document[],
  schema: JsonSchema,
  report: (message: string, offset: number) => void,
) => Translation | undefined

/** A file in another dialect, as one document of the schema. */
export interface Translation {
  /** A node of the YAML library, with the positions in the text. */
  readonly contents: unknown
  readonly unused: readonly UnusedOption[]
  /** The names of the profiles whose documents are included. */
  readonly profiles: readonly string[]
  /** Whether the value at a path may have placeholders of the other program. */
  isForeign(path: Path): boolean
  replace(written: string): ReplacementResult
}

/** An option of the file that was left out, because the schema does not have it. */
export interface UnusedOption {
  readonly path: Path
  /** The offset of its key in the text; undefined for an environment variable. */
  readonly offset: number | undefined
  /** Its value, if it is text, a number, true or false. */
  readonly value: unknown
  /** The keys inside it, at any depth; at most 1,000. */
  readonly keys: readonly string[]
}
