/** A list of numbers with suffix additions. */
export interface Steps {
  /** Adds to every number from `index` on. */
  addFrom(index: number, by: number): void
  /** Sets a number that was left out, which then includes all earlier additions. */
  fill(index: number, value: number): void
  at(index: number): number
  /** The highest number and its index. */
  highest(): { value: number; index: number }
}

/** Minus infinity leaves a number out. A segment tree: every operation takes logarithmic time. */
export function createSteps(row: readonly number[]): Steps {
  let leaves = 1
  while (leaves < row.length) leaves *= 2
  /** The pending addition of each node, and the highest number below the node with that addition. */
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
        // The subtrees to the right of the path to the root.
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
