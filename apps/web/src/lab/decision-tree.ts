import type { AlgorithmName } from '@tidegate/core'

/*
 * Which algorithm, as questions. Each has an answer that ends the search; the last "no" means: no strong
 * opinion, and the counter is right for most.
 */

export const QUESTIONS = [
  { id: 'bursts', ifYes: 'token-bucket' },
  { id: 'even', ifYes: 'leaky-bucket' },
  { id: 'simple', ifYes: 'fixed-window' },
  { id: 'exact', ifYes: 'sliding-window-log' },
] as const satisfies readonly { id: string; ifYes: AlgorithmName }[]

const IF_ALL_NO: AlgorithmName = 'sliding-window-counter'

/** `nny`: no, no, yes. What comes after a yes says nothing; text that is no answers is none given. */
export function readAnswers(text: string | undefined): readonly boolean[] {
  if (text === undefined || !/^n{0,4}y?$/.test(text) || text.length > QUESTIONS.length) return []
  return [...text].map((letter) => letter === 'y')
}

export function writeAnswers(answers: readonly boolean[]): string {
  return answers.map((answer) => (answer ? 'y' : 'n')).join('')
}

/** The algorithm that the answers lead to, or undefined while a question is open. */
export function algorithmFor(answers: readonly boolean[]): AlgorithmName | undefined {
  const yes = answers.indexOf(true)
  if (yes >= 0) return QUESTIONS[yes]?.ifYes
  return answers.length === QUESTIONS.length ? IF_ALL_NO : undefined
}
