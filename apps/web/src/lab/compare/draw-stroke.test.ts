import { expect, it } from 'vitest'
import { drawStroke } from './draw-stroke.js'

it.each([
  [
    'A fast stroke to the right fills the cells that it skips',
    { cell: 1, count: 0 },
    { cell: 4, count: 9 },
    [7, 7, 3, 6, 9, 7],
  ],
  [
    'A fast stroke to the left fills the cells that it skips',
    { cell: 4, count: 9 },
    { cell: 1, count: 0 },
    [7, 0, 3, 6, 7, 7],
  ],
  [
    'A stroke within a cell changes this cell only',
    { cell: 2, count: 1 },
    { cell: 2, count: 5 },
    [7, 7, 5, 7, 7, 7],
  ],
])('%s', (_title, from, to, drawn) => {
  expect(drawStroke([7, 7, 7, 7, 7, 7], from, to)).toStrictEqual(drawn)
})
