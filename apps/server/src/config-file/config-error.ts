/** An error in the configuration, and what to write instead. */
export interface ConfigError {
  /** From 1; absent for errors of the environment and of the command line. */
  readonly line?: number
  /** From 1, in characters. */
  readonly column?: number
  /** The option, such as `policies.per-user.limit` or `rules[0].key`; empty for the file as a whole. */
  readonly path: string
  /** Never holds a secret. */
  readonly message: string
}

/** The path of a value in the configuration: keys and indexes. */
export type Path = readonly (string | number)[]

/** `['rules', 0, 'key']` as `rules[0].key`. */
export function pathText(path: Path): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else if (/^[\w$-]{1,64}$/.test(step)) text += text === '' ? step : `.${step}`
    else text += `[${quote(step)}]`
  }
  return text
}

/**
 * Formats one line per error, with a position that editors and terminals turn into a link. If `file` is `''`, there is no
 * position.
 */
export function formatConfigErrors(errors: readonly ConfigError[], file: string): string {
  return errors.map((error) => describe(error, file)).join('\n')
}

function describe({ line, column, path, message }: ConfigError, file: string): string {
  const text = path === '' ? message : `${path}: ${message}`
  return line === undefined || file === '' ? text : `${file}:${line}:${column ?? 1}  ${text}`
}

/** Quotes a text from the file for a message, shortened and with control characters escaped. */
export function quote(text: string): string {
  const excerpt = text.length > 60 ? `${text.slice(0, 57)}…` : text
  return JSON.stringify(excerpt).replace(/[\u007f-\u009f\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
