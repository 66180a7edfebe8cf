/** A diagonal hatch of a colour, to fill areas on a canvas. Falls back to the plain colour. */
export function hatch(colour: string): CanvasPattern | string {
  const size = Math.round(4 * devicePixelRatio)
  const tile = document.createElement('canvas')
  tile.width = size
  tile.height = size
  const context = tile.getContext('2d')
  if (context === null) return colour
  context.strokeStyle = colour
  context.lineWidth = size * 0.35
  // Three strokes, so that the lines continue across the edges of the tile.
  for (const offset of [-size, 0, size]) {
    context.beginPath()
    context.moveTo(offset, size)
    context.lineTo(offset + size, 0)
    context.stroke()
  }
  return context.createPattern(tile, 'repeat') ?? colour
}
