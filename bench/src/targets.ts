/** Something promised, what it came to, and whether it holds. */
export interface Result {
  promise: string
  value: number
  unit: 'x' | 'ms' | 'bytes' | 'calls'
  bound: 'at least' | 'at most'
  target: number
  holds: boolean
}

export function atLeast(target: number, unit: Result['unit'], promise: string, value: number): Result {
  return { promise, value, unit, bound: 'at least', target, holds: value >= target }
}

export function atMost(target: number, unit: Result['unit'], promise: string, value: number): Result {
  return { promise, value, unit, bound: 'at most', target, holds: value <= target }
}
