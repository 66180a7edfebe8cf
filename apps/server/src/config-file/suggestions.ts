import { nearestWords } from '@tidegate/core'

/** `did you mean "limit"?`, or undefined if no choice is near. */
export function didYouMean(word: string, choices: readonly string[]): string | undefined {
  const words = nearestWords(word, choices)
  return words.length === 0 ? undefined : `did you mean ${words.map((near) => `"${near}"`).join(' or ')}?`
}

/** `write one of limit, window` */
export function choiceOf(choices: readonly string[]): string {
  return choices.length === 1 ? `write ${choices[0]}` : `write one of ${choices.join(', ')}`
}
