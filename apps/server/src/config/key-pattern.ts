import type { ConfigDocument } from './document.js'
import { optionOf } from './options.js'
import { REPEATED_CHOICE, repeatsChoice } from './repeated-choice.js'

/** The whole key must match: a pattern that may match anywhere lets through what it was written to keep out. */
export function readKeyPattern(document: ConfigDocument): RegExp | undefined {
  const source = optionOf(document).textIfAny('keyPattern')
  if (source === undefined) return undefined
  try {
    // By itself first: a stray bracket could otherwise pair with those put around it.
    new RegExp(source, 'u')
    if (!repeatsChoice(source)) return new RegExp(`^(?:${source})$`, 'u')
    document.wrong(['keyPattern'], REPEATED_CHOICE)
    return undefined
  } catch (error) {
    const why = String((error as Error).message)
      .split(': ')
      .at(-1)
    document.wrong(['keyPattern'], `is no regular expression: ${why?.toLowerCase()}`)
    return undefined
  }
}
