import { show } from '@tidegate/core'
import { type Path, quote } from './config-error.js'
import { placeName } from './error-collector.js'

/** Values from environment variables. They may be secret, so no message shows them. */
export interface Replacements {
  note(path: Path, written: string, text: string, values: readonly string[]): void
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
    note(path, written, text, values) {
      writtenAt.set(placeName(path), written)
      const secret = values.filter((value) => value.length >= MIN_SECRET)
      if (secret.length > 0) secrets.push({ path, written, text, values: secret })
    },

    writtenAt: (path) => writtenAt.get(placeName(path)),

    hide(path, message) {
      let shown = message
      for (const { path: at, written, text, values } of secrets) {
        const isNear = at.every((step, i) => i >= path.length || step === path[i])
        if (!isNear) continue
        shown = shown.replaceAll(show(text), show(written)).replaceAll(quote(text), quote(written))
        // A part of the secret would still be visible, so the whole message is replaced.
        if (values.some((value) => shown.includes(value))) return `the value of ${written} is not valid here`
      }
      return shown
    },
  }
}
