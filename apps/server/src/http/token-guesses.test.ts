import { expect, it } from 'vitest'
import { createTokenGuesses } from './token-guesses.js'

const secondsOf = (guesses: ReturnType<typeof createTokenGuesses>, client: string): number | undefined => {
  let seconds: number | undefined
  guesses.record(client, (wait) => {
    seconds = wait
  })
  return seconds
}

it('resets the count of a client after a minute', () => {
  let nowMs = 0
  const guesses = createTokenGuesses(() => nowMs)
  for (let i = 0; i < 10; i++) expect(secondsOf(guesses, 'a')).toBe(0)
  expect(secondsOf(guesses, 'a')).toBeUndefined()
  nowMs = 59_999
  expect(secondsOf(guesses, 'a')).toBeUndefined()
  nowMs = 60_000
  expect(secondsOf(guesses, 'a')).toBe(0)
})

it('tracks at most 10,000 clients, and drops the oldest', () => {
  const guesses = createTokenGuesses(() => 0)
  for (let i = 0; i < 10; i++) secondsOf(guesses, 'oldest')
  for (let i = 0; i < 10_000; i++) secondsOf(guesses, `client-${i}`)
  expect(secondsOf(guesses, 'oldest')).toBe(0)
})

it('delays at most 1,000 responses at a time', () => {
  const guesses = createTokenGuesses(() => 0)
  for (let i = 0; i < 10; i++) secondsOf(guesses, 'a')
  for (let i = 0; i < 1000; i++) expect(secondsOf(guesses, 'a')).toBeUndefined()
  expect(secondsOf(guesses, 'a')).toBe(60)
})
