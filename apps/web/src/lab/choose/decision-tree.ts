import type { AlgorithmName } from '@tidegate/core'

/*
 * Questions that lead to an algorithm. The first "yes" decides; without one the result is the counter, which suits
 * most uses.
 */

export const QUESTIONS = [
  { id: 'bursts', ifYes: 'token-bucket' },
  { id: 'even', ifYes: 'leaky-bucket' },
  { id: 'simple', ifYes: 'fixed-window' },
  { id: 'exact', ifYes: 'sliding-window-log' },
] as const satisfies readonly { id: string; ifYes: AlgorithmName }[]

const IF_ALL_NO: AlgorithmName = 'sliding-window-counter'

/** Parses answers such as `nny` (no, no, yes). Invalid text gives no answers. */
export function readAnswers(text: string | undefined): readonly boolean[] {
  if (text === undefined || !/^n{0,4}y?$/.test(text) || text.length > QUESTIONS.length) return []
  return [...text].map((letter) => letter === 'y')
}

export function writeAnswers(answers: readonly boolean[]): string {
  return answers.map((answer) => (answer ? 'y' : 'n')).join('')
}

/** The algorithm for these answers, or undefined while questions are left. */
export function algorithmFor(answers: readonly boolean[]): AlgorithmName | undefined {
  const yes = answers.indexOf(true)
  if (yes >= 0) return QUESTIONS[yes]?.ifYes
  return answers.length === QUESTIONS.length ? IF_ALL_NO : undefined
}
