import { inOwnProcess } from '../load/own-process.js'
import type { Figures } from '../report/figures.js'
import type { HotKeyScenario } from './redis-scenarios.js'

const CHILD = new URL('./hot-key-child.js', import.meta.url)

/** Checks per second of several processes together at one key, and calls to the store per check. */
export async function measureHotKey(
  contender: string,
  url: string,
  { processes, inFlight, seconds }: HotKeyScenario,
): Promise<Figures> {
  const args = [contender, url, String(processes), String(inFlight), String(seconds)]
  const all = await Promise.all(Array.from({ length: processes }, () => inOwnProcess(CHILD, args)))
  const perSecond = all.reduce((sum, figures) => sum + figures.perSecond!, 0)
  const calls = all.reduce((sum, figures) => sum + figures.perSecond! * figures.callsPerCheck!, 0)
  return { perSecond, callsPerCheck: calls / perSecond }
}
