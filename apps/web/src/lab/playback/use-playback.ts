import { useEffect, useMemo, useRef } from 'preact/hooks'
import { momentMs } from '../../page/address.js'
import { usePage } from '../../page/page-context.js'
import type { Scenario } from '../../simulation/scenario.js'
import { createPlayback, type Playback } from './playback.js'

/** The address is written once the clock has stopped for this long, because browsers throttle frequent writes. */
const WRITE_AFTER_MS = 250

/**
 * A clock for the axis of a scenario. It starts at `t` of the address (milliseconds), else at `opensAtMs`, and writes
 * `t` when it stops.
 */
export function usePlayback({ spanMs, opensAtMs = spanMs }: Scenario): Playback {
  const page = usePage()
  const latest = useRef(page)
  latest.current = page
  const wanted = momentMs(page.place.params.get('t'), spanMs, opensAtMs)
  // Only a new axis gets a new clock.
  const playback = useMemo(() => createPlayback(spanMs, wanted), [spanMs])

  // Follow the address after back, forward or a link, but not after the clock wrote it: it may have moved since.
  const written = useRef<number>(undefined)
  useEffect(() => {
    if (wanted === written.current) return
    if (toMicroseconds(playback.timeMs) !== wanted && !playback.isPlaying) playback.seek(wanted)
  }, [playback, wanted])

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const write = () => {
      const { place, go } = latest.current
      const params = new Map(place.params)
      const now = toMicroseconds(playback.timeMs)
      written.current = now
      if (now === opensAtMs) params.delete('t')
      else params.set('t', String(now))
      if (params.get('t') !== place.params.get('t')) go({ ...place, params }, 'replace')
    }
    const unsubscribe = playback.subscribe(() => {
      clearTimeout(timer)
      if (!playback.isPlaying) timer = setTimeout(write, WRITE_AFTER_MS)
    })
    return () => {
      clearTimeout(timer)
      unsubscribe()
      playback.pause()
    }
  }, [playback, opensAtMs])
  return playback
}

/** Requests are at whole microseconds. Rounding to milliseconds could move the clock before a request. */
function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
