import { show } from '@tidegate/core'
import { placeName } from './findings.js'
import { type Path, quoted } from './mistakes.js'

/** What the environment has put into a file. It may be secret wherever it stands, so no message shows it. */
export interface Replacements {
  note(path: Path, written: string, text: string, values: readonly string[]): void
  /** How a value with variables in it was written, such as `${PORT}`; undefined for every other. */
  writtenAt(path: Path): string | undefined
  /** A message about the value at a path as it may be shown. */
  hide(path: Path, message: string): string
}

/** Too short to be secret, and to be found in a message only where it is meant. */
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
        shown = shown.replaceAll(show(text), show(written)).replaceAll(quoted(text), quoted(written))
        // A piece of it is still there: then nothing of the message is.
        if (values.some((value) => shown.includes(value)))
          return `what ${written} stands for cannot stand here`
      }
      return shown
    },
  }
}
