/** A row of numbers to which steps are added: from one of them on, all rise. */
export interface Steps {
  addFrom(index: number, by: number): void
  /** Gives a number that was left out its value, as if it had been there from the beginning. */
  fill(index: number, value: number): void
  at(index: number): number
  /** The highest of all, and where. */
  highest(): { value: number; index: number }
}

/** Minus infinity leaves a number out. A tree over the row, so that a step and the highest each cost the logarithm of its length. */
export function createSteps(row: readonly number[]): Steps {
  let leaves = 1
  while (leaves < row.length) leaves *= 2
  /** What all below a node have risen by, and the highest below it with that. */
  const risen = new Float64Array(2 * leaves)
  const highest = new Float64Array(2 * leaves).fill(Number.NEGATIVE_INFINITY)
  for (const [i, value] of row.entries()) highest[leaves + i] = value
  for (let node = leaves - 1; node >= 1; node--) settle(node)

  function settle(node: number): void {
    highest[node] = Math.max(highest[2 * node]!, highest[2 * node + 1]!) + risen[node]!
  }

  function raise(node: number, by: number): void {
    risen[node]! += by
    highest[node]! += by
  }

  return {
    addFrom(index, by) {
      let node = leaves + index
      raise(node, by)
      while (node > 1) {
        // Everything to the right of the way up.
        if (node % 2 === 0) raise(node + 1, by)
        node >>= 1
        settle(node)
      }
    },
    fill(index, value) {
      let node = leaves + index
      highest[node] = value + risen[node]!
      while (node > 1) {
        node >>= 1
        settle(node)
      }
    },
    at(index) {
      let sum = highest[leaves + index]!
      for (let node = (leaves + index) >> 1; node >= 1; node >>= 1) sum += risen[node]!
      return sum
    },
    highest() {
      let node = 1
      while (node < leaves) {
        const isLeft = highest[2 * node]! >= highest[2 * node + 1]!
        node = 2 * node + (isLeft ? 0 : 1)
      }
      return { value: highest[1]!, index: node - leaves }
    },
  }
}
