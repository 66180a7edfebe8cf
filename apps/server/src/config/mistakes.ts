/** One thing that is wrong in the configuration, and what to write instead. */
export interface Mistake {
  /** From 1; absent where the mistake is not in the file, but in the environment or on the command line. */
  readonly line?: number
  /** From 1, in characters. */
  readonly column?: number
  /** Which option, such as `policies.per-user.limit` or `rules[0].key`; empty for the file as a whole. */
  readonly path: string
  /** Never holds a secret. */
  readonly message: string
}

/** Where a value is in the configuration: the keys and indexes that lead to it. */
export type Path = readonly (string | number)[]

/** `['rules', 0, 'key']` as a reader knows it: `rules[0].key`. */
export function pathText(path: Path): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else if (/^[\w$-]{1,64}$/.test(step)) text += text === '' ? step : `.${step}`
    else text += `[${quoted(step)}]`
  }
  return text
}

/** One line for each mistake, in the form that editors and terminals turn into a link. */
export function describeMistakes(mistakes: readonly Mistake[], file: string): string {
  return mistakes.map((mistake) => describe(mistake, file)).join('\n')
}

function describe({ line, column, path, message }: Mistake, file: string): string {
  const what = path === '' ? message : `${path}: ${message}`
  return line === undefined ? what : `${file}:${line}:${column ?? 1}  ${what}`
}

/** Text from the file as a piece of a message: quoted, cut, control characters escaped. */
export function quoted(text: string): string {
  const shown = text.length > 60 ? `${text.slice(0, 57)}…` : text
  return JSON.stringify(shown).replace(/[\u007f-\u009f\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
