import { useRef, useState } from 'preact/hooks'
import { usePage } from '../../page/page-context.js'
import { CELLS, MAX_PER_CELL } from './compare-settings.js'
import { type DrawPoint, drawStroke } from './draw-stroke.js'

const HEIGHT = 72

/** An editor for traffic: click or drag, or use the arrow keys. */
export function DrawTraffic({
  cells,
  spanMs,
  onDraw,
}: {
  cells: readonly number[]
  spanMs: number
  /** `isDone` is true when the pointer is released. */
  onDraw: (cells: readonly number[], isDone: boolean) => void
}) {
  const { words } = usePage()
  const element = useRef<HTMLDivElement>(null)
  const [chosen, setChosen] = useState(0)
  /** Where the pointer was last. */
  const stroke = useRef<DrawPoint>(undefined)
  const top = Math.max(20, ...cells)

  const set = (cell: number, count: number, isDone: boolean, from?: DrawPoint) => {
    const to = { cell, count: Math.min(MAX_PER_CELL, Math.max(0, count)) }
    stroke.current = to
    setChosen(cell)
    onDraw(drawStroke(cells, from ?? to, to), isDone)
  }
  const setAtPointer = (event: PointerEvent, isDone: boolean, from?: DrawPoint) => {
    const box = element.current?.getBoundingClientRect()
    if (box === undefined) return
    const cell = Math.min(
      CELLS - 1,
      Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * CELLS)),
    )
    set(cell, Math.round((1 - (event.clientY - box.top) / box.height) * top), isDone, from)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const count = cells[chosen] ?? 0
    const moves: Record<string, () => void> = {
      ArrowLeft: () => setChosen(Math.max(0, chosen - 1)),
      ArrowRight: () => setChosen(Math.min(CELLS - 1, chosen + 1)),
      ArrowUp: () => set(chosen, count + 1, true),
      ArrowDown: () => set(chosen, count - 1, true),
      PageUp: () => set(chosen, count + 10, true),
      PageDown: () => set(chosen, count - 10, true),
      Delete: () => set(chosen, 0, true),
    }
    const move = moves[event.key]
    if (move === undefined) return
    event.preventDefault()
    move()
  }

  const chosenText = words.lab.drawCell((chosen / CELLS) * spanMs, cells[chosen] ?? 0)
  return (
    <div
      class="draw"
      ref={element}
      role="slider"
      tabIndex={0}
      aria-label={words.lab.drawLabel}
      aria-valuemin={0}
      aria-valuemax={MAX_PER_CELL}
      aria-valuenow={cells[chosen] ?? 0}
      aria-valuetext={chosenText}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        // Without this, the plot would move the clock.
        event.stopPropagation()
        event.currentTarget.setPointerCapture(event.pointerId)
        setAtPointer(event, false)
      }}
      onPointerMove={(event) => event.buttons === 1 && setAtPointer(event, false, stroke.current)}
      onPointerUp={(event) => setAtPointer(event, true, stroke.current)}
    >
      <span class="draw-top" aria-hidden="true">
        {top}
      </span>
      <span class="draw-chosen" aria-hidden="true">
        {chosenText}
      </span>
      <svg viewBox={`0 0 ${CELLS} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <rect class="chosen" x={chosen} y={0} width={1} height={HEIGHT} />
        {cells.map((count, i) => (
          <rect
            key={i}
            class="cell"
            x={i + 0.06}
            width={0.88}
            y={HEIGHT - (count / top) * HEIGHT}
            height={(count / top) * HEIGHT}
          />
        ))}
      </svg>
    </div>
  )
}
