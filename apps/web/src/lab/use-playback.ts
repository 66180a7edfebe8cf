import { useEffect, useMemo, useRef } from 'preact/hooks'
import { momentMs } from '../address.js'
import { usePage } from '../page-context.js'
import { createPlayback, type Playback } from './playback.js'
import type { Scenario } from './scenario.js'

/** The address is written when the clock has stood for this long: browsers slow down those who write often. */
const WRITE_AFTER_MS = 250

/**
 * A clock for the axis of a scenario. It starts where the address says (`t`, milliseconds), else where the scenario
 * opens; and where it stops, the address says so.
 */
export function usePlayback({ spanMs, opensAtMs = spanMs }: Scenario): Playback {
  const page = usePage()
  const latest = useRef(page)
  latest.current = page
  const wanted = momentMs(page.place.params.get('t'), spanMs, opensAtMs)
  // A new axis gets a new clock, a new time does not
  const playback = useMemo(() => createPlayback(spanMs, wanted), [spanMs])

  // Back, forward, or a link to another moment; not what the clock itself wrote, as it may have moved since.
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

/** Requests come at whole microseconds: rounded to less, a moment could be before the request that it is of. */
function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
