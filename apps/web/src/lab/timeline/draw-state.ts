import type { AlgorithmState, LimiterState } from '../../simulation/state.js'

export interface Sheet {
  readonly width: number
  readonly height: number
  /** Colour of the algorithm. */
  readonly own: string
  readonly line: string
  readonly muted: string
  /** Covers the picture while the key is blocked. */
  readonly blocked: CanvasPattern | string
}

type Context = CanvasRenderingContext2D
type StateOf<K extends AlgorithmState['kind']> = Extract<AlgorithmState, { kind: K }>

/** Above this number, single tokens and dots would overlap. */
const MAX_SINGLE = 60

export function drawState(context: Context, state: LimiterState, sheet: Sheet): void {
  drawAlgorithm(context, state, sheet)
  if (state.blockedMs <= 0) return
  context.globalAlpha = 0.6
  context.fillStyle = sheet.blocked
  context.fillRect(0, 0, sheet.width, sheet.height)
  context.globalAlpha = 1
}

function drawAlgorithm(context: Context, state: AlgorithmState, sheet: Sheet): void {
  switch (state.kind) {
    case 'fixed-window':
      drawFixedWindow(context, state, sheet)
      break
    case 'sliding-window-log':
      drawLog(context, state, sheet)
      break
    case 'sliding-window-counter':
      drawCounter(context, state, sheet)
      break
    case 'token-bucket':
      drawTokens(context, state, sheet)
      break
    case 'leaky-bucket':
      drawWater(context, state, sheet)
  }
}

/** A box that fills from below; the needle is the position in the window, if one is open. */
function drawFixedWindow(context: Context, state: StateOf<'fixed-window'>, sheet: Sheet) {
  const box = { x: 1, y: 3, width: sheet.width - 2, height: sheet.height - 6 }
  fillFromBelow(context, box, state.count / state.limit, sheet.own, 0.85)
  frame(context, box, sheet.muted)
  if (state.elapsed !== undefined) needle(context, box.x + state.elapsed * box.width, box, sheet.muted)
}

/** Each unit is a dot that enters on the right and leaves on the left. */
function drawLog(context: Context, { ages, limit }: StateOf<'sliding-window-log'>, sheet: Sheet) {
  const { width, height } = sheet
  context.strokeStyle = sheet.line
  context.lineWidth = 1
  context.strokeRect(0.5, 0.5, width - 1, height - 1)
  const radius = limit > MAX_SINGLE ? 1.6 : 2.6
  const rows = Math.max(1, Math.floor((height - 8) / (radius * 2 + 1)))
  context.fillStyle = sheet.own
  // Units at almost the same time are stacked; above a full column they overlap.
  let columnX = Number.NaN
  let inColumn = 0
  for (const age of ages) {
    const x = 4 + (1 - age) * (width - 8)
    inColumn = Math.abs(x - columnX) < radius * 2 ? inColumn + 1 : 0
    if (inColumn === 0) columnX = x
    const y = height - 4 - radius - Math.min(inColumn, rows - 1) * (radius * 2 + 1)
    context.beginPath()
    context.arc(inColumn === 0 ? x : columnX, y, radius, 0, Math.PI * 2)
    context.fill()
  }
}

/** The previous and the current window side by side; the bar below is the sliding window over both. */
function drawCounter(context: Context, state: StateOf<'sliding-window-counter'>, sheet: Sheet) {
  const { prev, curr, limit, elapsed } = state
  const half = (sheet.width - 6) / 2
  const box = { y: 3, width: half, height: sheet.height - 14 }
  const before = { ...box, x: 1 }
  const now = { ...box, x: half + 5 }
  fillFromBelow(context, before, prev / limit, sheet.own, 0.25)
  // The part of the previous window that still counts.
  context.save()
  context.beginPath()
  context.rect(before.x + elapsed * half, 0, half, sheet.height)
  context.clip()
  fillFromBelow(context, before, prev / limit, sheet.own, 0.85)
  context.restore()
  fillFromBelow(context, now, curr / limit, sheet.own, 0.85)
  frame(context, before, sheet.line)
  frame(context, now, sheet.muted)
  needle(context, now.x + elapsed * half, now, sheet.muted)
  const y = sheet.height - 4
  context.fillStyle = sheet.muted
  context.fillRect(before.x + elapsed * half, y, half + 4, 2)
}

/** One coin per token, the last one scaled by its fraction; or a level, if there are many. */
function drawTokens(context: Context, { tokens, capacity }: StateOf<'token-bucket'>, sheet: Sheet) {
  const box = bucketBox(sheet)
  if (capacity > MAX_SINGLE) fillFromBelow(context, box, tokens / capacity, sheet.own, 0.85)
  else {
    const columns = Math.ceil(Math.sqrt((capacity * box.width) / box.height))
    const rows = Math.ceil(capacity / columns)
    const cell = Math.min(box.width / columns, box.height / rows)
    const left = box.x + (box.width - cell * columns) / 2
    context.fillStyle = sheet.own
    for (let i = 0; i < Math.ceil(tokens - 1e-6); i++) {
      const grown = Math.min(1, tokens - i)
      const x = left + ((i % columns) + 0.5) * cell
      const y = box.y + box.height - (Math.floor(i / columns) + 0.5) * cell
      context.globalAlpha = grown < 1 ? 0.45 : 1
      context.beginPath()
      context.arc(x, y, Math.max(0.5, cell * 0.38 * grown), 0, Math.PI * 2)
      context.fill()
    }
    context.globalAlpha = 1
  }
  openBucket(context, box, sheet.muted)
}

/** A water level that drips while it is above 0. */
function drawWater(context: Context, { level, capacity, waitMs }: StateOf<'leaky-bucket'>, sheet: Sheet) {
  const box = bucketBox(sheet)
  fillFromBelow(context, box, level / capacity, sheet.own, 0.85)
  openBucket(context, box, sheet.muted)
  if (level <= 0) return
  const phase = (waitMs % 1000) / 1000
  context.fillStyle = sheet.own
  const bottom = box.y + box.height
  context.beginPath()
  context.arc(sheet.width / 2, bottom + 3 + (1 - phase) * (sheet.height - bottom - 5), 2, 0, Math.PI * 2)
  context.fill()
}

interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

function bucketBox({ width, height }: Sheet): Box {
  return { x: width * 0.14, y: 3, width: width * 0.72, height: height - 15 }
}

function fillFromBelow(context: Context, box: Box, share: number, fill: string, alpha: number) {
  const height = Math.min(1, Math.max(0, share)) * box.height
  context.globalAlpha = alpha
  context.fillStyle = fill
  context.fillRect(box.x, box.y + box.height - height, box.width, height)
  context.globalAlpha = 1
}

function frame(context: Context, box: Box, stroke: string) {
  context.strokeStyle = stroke
  context.lineWidth = 1
  context.strokeRect(Math.round(box.x) + 0.5, Math.round(box.y) + 0.5, Math.round(box.width) - 1, box.height)
}

function openBucket(context: Context, { x, y, width, height }: Box, stroke: string) {
  context.strokeStyle = stroke
  context.lineWidth = 1.5
  context.beginPath()
  context.moveTo(x - 1, y)
  context.lineTo(x - 1, y + height + 1)
  context.lineTo(x + width + 1, y + height + 1)
  context.lineTo(x + width + 1, y)
  context.stroke()
}

function needle(context: Context, x: number, box: Box, stroke: string) {
  context.fillStyle = stroke
  context.fillRect(x - 0.5, box.y - 3, 1.5, box.height + 6)
}
