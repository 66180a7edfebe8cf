import { readFileSync } from 'node:fs'
import { type Config, readConfig } from './config.js'
import { type ConfigDocument, readDocument } from './document.js'
import type { Mistake } from './mistakes.js'
import { type Flags, readOverrides } from './overrides.js'
import { valueSchema } from './schema.js'
import { checkShape } from './shape.js'
import { noteSpring } from './spring.js'
import type { Environment } from './variables.js'

export interface LoadOptions {
  /** The file to read. Default: none, so that all is as by default. */
  readonly file?: string | undefined
  /** What is in the file, if it has been read already. */
  readonly text?: FileText | undefined
  /** For variables in the file, and for `TIDEGATE_…`. Usually `process.env`. */
  readonly env: Environment
  /** What was given on the command line. Default: nothing. */
  readonly flags?: Flags | undefined
}

/** The text of a file, or why there is none. */
export type FileText = string | Mistake

export type Loaded = { readonly config: Config } | { readonly mistakes: readonly Mistake[] }

/** The configuration as a whole, or everything that is wrong with it. */
export function loadConfig({ file, text: given, env, flags = {} }: LoadOptions): Loaded {
  const text = given ?? readText(file)
  const { overrides, mistakes } = readOverrides(env, flags)
  if (typeof text !== 'string') return { mistakes: [text, ...mistakes] }
  const document = readDocument(text, valueSchema, env)
  if (document.value === undefined) return { mistakes: [...mistakes, ...document.mistakes()] }
  noteSpring(document)
  checkShape(document)
  const config = readConfig(document, overrides)
  // Of a text alone nobody knows on which machine it will be used.
  if (given === undefined) checkFiles(document)
  mistakes.push(...document.mistakes())
  return mistakes.length > 0 ? { mistakes } : { config }
}

/** The start would fail without them. If it is no name that stands here, it may be the key itself, and is not shown. */
function checkFiles(document: ConfigDocument): void {
  for (const name of ['certFile', 'keyFile']) {
    const path = ['gateway', 'listen', 'tls', name]
    const file = document.at(path)
    if (typeof file !== 'string' || !document.isRight(path)) continue
    const read = readText(file)
    if (typeof read !== 'string') document.wrong(path, read.message)
  }
}

/** Without a file, all is as by default. */
export function readText(file: string | undefined): FileText {
  if (file === undefined) return ''
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file))
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    return { path: file, message: WHY[code] ?? `cannot be read: ${code}` }
  }
}

const WHY: Record<string, string> = {
  ENOENT: 'there is no such file',
  EISDIR: 'is a folder; name the file in it',
  EACCES: 'may not be read by this user',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'is not text in UTF-8; save it as UTF-8',
}
