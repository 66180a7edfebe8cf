import { show } from '@tidegate/core'
import { type Path, quote } from './config-error.js'
import { placeName } from './error-collector.js'

/** Values from environment variables. They may be secret, so messages must not show them. */
export interface Replacements {
  add(path: Path, written: string, text: string, values: readonly string[]): void
  /** The text of a value before its variables were replaced, such as `${PORT}`; undefined for a value without variables. */
  writtenAt(path: Path): string | undefined
  /** The message about the value at a path, without secrets. */
  hide(path: Path, message: string): string
}

/** Shorter values are not secret, and would match messages by accident. */
const MIN_SECRET = 4

export function createReplacements(): Replacements {
  const writtenAt = new Map<string, string>()
  const secrets: { path: Path; written: string; text: string; values: readonly string[] }[] = []
  return {
    add(path, written, text, values) {
      writtenAt.set(placeName(path), written)
      const secretValues = values.filter((value) => value.length >= MIN_SECRET)
      if (secretValues.length > 0) secrets.push({ path, written, text, values: secretValues })
    },

    writtenAt: (path) => writtenAt.get(placeName(path)),

    hide(path, message) {
      let safeMessage = message
      for (const { path: at, written, text, values } of secrets) {
        const isNear = at.every((step, i) => i >= path.length || step === path[i])
        if (!isNear) continue
        safeMessage = safeMessage
          .replaceAll(show(text), show(written))
          .replaceAll(quote(text), quote(written))
        // The message contains a part of the value, so it is replaced as a whole.
        if (values.some((value) => safeMessage.includes(value))) return `the value of ${written} is not valid`
      }
      return safeMessage
    },
  }
}
