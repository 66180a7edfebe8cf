import type { ConfigError } from '../config-file/config-error.js'
import { type ConfigDocument, readDocument } from '../config-file/document.js'
import { type FileText, readFileText } from '../config-file/file-text.js'
import type { Environment } from '../config-file/variables.js'
import { reportSpringSections, reportUnused } from '../gateway/config/spring-file.js'
import { springDialect } from '../spring-file/spring-dialect.js'
import { checkShape } from './check-shape.js'
import { type Config, readConfig } from './config.js'
import { type Flags, readOverrides } from './overrides.js'
import { valueSchema } from './schema/file-schema.js'

export interface LoadOptions {
  /** The file to read. Default: none, and every option has its default. */
  readonly file?: string | undefined
  /** The text of the file, if it has been read already. */
  readonly text?: FileText | undefined
  /** For variables in the file, and for `TIDEGATE_…`. Usually `process.env`. */
  readonly env: Environment
  /** Options of the command line. Default: none. */
  readonly flags?: Flags | undefined
  /** The active profiles of a Spring file, separated by commas. Default: SPRING_PROFILES_ACTIVE, or those of the file. */
  readonly profiles?: string | undefined
}

export type { FileText } from '../config-file/file-text.js'

export type LoadResult = { readonly config: Config } | { readonly errors: readonly ConfigError[] }

/** Loads the whole configuration, or returns all its errors. */
export function loadConfig({ file, text: textOfFile, env, flags = {}, profiles }: LoadOptions): LoadResult {
  const text = textOfFile ?? readText(file)
  const { overrides, errors } = readOverrides(env, flags)
  if (typeof text !== 'string') return { errors: [text, ...errors] }
  const document = readDocument(text, valueSchema, env, springDialect({ env, profiles }))
  if (document.value === undefined) return { errors: [...errors, ...document.errors()] }
  const unused = reportUnused(document)
  if (document.profiles === undefined) reportSpringSections(document)
  checkShape(document)
  const config = readConfig(document, overrides)
  // A text without a file may be for another machine, so its certificate files are not checked.
  if (textOfFile === undefined) checkFiles(document)
  errors.push(...document.errors())
  if (errors.length > 0) return { errors }
  const notices = { warnings: document.warnings(), unused, profiles: document.profiles }
  return { config: Object.freeze({ ...config, notices }) }
}

const CERTIFICATE_FILES = [
  ['gateway', 'listen', 'tls', 'certFile'],
  ['gateway', 'listen', 'tls', 'keyFile'],
  ['rls', 'tls', 'certFile'],
  ['rls', 'tls', 'keyFile'],
  ['rls', 'tls', 'clientCaFile'],
]

/** The start would fail without these files. The value is not shown, because it may be the key instead of its file name. */
function checkFiles(document: ConfigDocument): void {
  for (const path of CERTIFICATE_FILES) {
    const file = document.at(path)
    if (typeof file !== 'string' || !document.isValid(path)) continue
    const read = readText(file)
    if (typeof read !== 'string') document.addError(path, read.message)
  }
}

/** Reads the file. Without one, the text is empty, and every option has its default. */
export function readText(file: string | undefined): FileText {
  return file === undefined ? '' : readFileText(file)
}
