import { expect, it } from 'vitest'
import { atEndOfTurn } from './end-of-turn.js'

const never = (error: unknown) => {
  throw error
}
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

it('does what came in one turn at its end, in order, and what comes meanwhile in the next', async () => {
  const done: string[] = []
  atEndOfTurn(() => {
    done.push('first')
    atEndOfTurn(() => done.push('third'), never)
  }, never)
  atEndOfTurn(() => done.push('second'), never)
  await Promise.resolve()
  expect(done).toStrictEqual([])
  await nextTurn()
  expect(done).toStrictEqual(['first', 'second'])
  await nextTurn()
  expect(done).toStrictEqual(['first', 'second', 'third'])
})

it('goes on with the others where one throws, and says what', async () => {
  const done: unknown[] = []
  const mistake = new Error('a mistake')
  atEndOfTurn(
    () => {
      throw mistake
    },
    (error) => done.push(error),
  )
  atEndOfTurn(() => done.push('second'), never)
  await nextTurn()
  expect(done).toStrictEqual([mistake, 'second'])
})
