import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Playback } from '../playback/playback.js'

/** A chart with the time cursor, a line at the current time that dims the future. Dragging moves the clock. */
export function Plot({ playback, children }: { playback: Playback; children: ComponentChildren }) {
  const area = useRef<HTMLDivElement>(null)
  const cursor = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // A transform is moved by the compositor, without drawing the chart again.
    const move = () => {
      const share = playback.timeMs / playback.spanMs
      if (cursor.current !== null) cursor.current.style.transform = `translateX(${share * 100}%)`
    }
    move()
    return playback.subscribe(move)
  }, [playback])

  const seek = (event: PointerEvent) => {
    const box = area.current?.getBoundingClientRect()
    if (box !== undefined) playback.seek(((event.clientX - box.left) / box.width) * playback.spanMs)
  }
  return (
    // The slider of the transport is the keyboard equivalent.
    <div
      class="plot"
      onPointerDown={(event) => {
        if (event.button !== 0) return
        event.currentTarget.setPointerCapture(event.pointerId)
        seek(event)
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) seek(event)
      }}
    >
      {children}
      <div class="plot-area" ref={area} aria-hidden="true">
        <div class="time-cursor" ref={cursor} />
      </div>
    </div>
  )
}
