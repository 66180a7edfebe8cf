import { useEffect, useMemo, useRef } from 'preact/hooks'
import { wholeNumber } from '../address.js'
import { usePage } from '../page-context.js'
import { createPlayback, type Playback } from './playback.js'

/** The address is written when the clock has stood for this long: browsers slow down those who write often. */
const WRITE_AFTER_MS = 250

/**
 * A clock for an axis of this length. It starts where the address says (`t`, milliseconds), else at the end,
 * where there is most to see; and where it stops, the address says so.
 */
export function usePlayback(spanMs: number): Playback {
  const page = usePage()
  const latest = useRef(page)
  latest.current = page
  const wanted = wholeNumber(page.place.params.get('t'), 0, spanMs, spanMs)
  // A new axis gets a new clock, a new time does not
  const playback = useMemo(() => createPlayback(spanMs, wanted), [spanMs])

  // Back, forward, or a link to another moment; not what the clock itself wrote, as it may have moved since.
  const written = useRef<number>(undefined)
  useEffect(() => {
    if (wanted === written.current) return
    if (Math.round(playback.timeMs) !== wanted && !playback.isPlaying) playback.seek(wanted)
  }, [playback, wanted])

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const write = () => {
      const { place, go } = latest.current
      const params = new Map(place.params)
      const now = Math.round(playback.timeMs)
      written.current = now
      if (now === spanMs) params.delete('t')
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
  }, [playback, spanMs])
  return playback
}
