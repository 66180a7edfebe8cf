/** A point of a drawing: `count` requests in a cell. */
export interface DrawPoint {
  readonly cell: number
  readonly count: number
}

/** Draws a straight line between two points. A fast pointer skips cells, and these must not stay empty. */
export function drawStroke(cells: readonly number[], from: DrawPoint, to: DrawPoint): number[] {
  const next = [...cells]
  const steps = Math.abs(to.cell - from.cell)
  for (let i = 1; i < steps; i++) {
    const cell = from.cell + Math.sign(to.cell - from.cell) * i
    next[cell] = Math.round(from.count + ((to.count - from.count) * i) / steps)
  }
  next[to.cell] = to.count
  return next
}
