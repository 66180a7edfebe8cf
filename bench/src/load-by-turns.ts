import { type Figures, median } from './figures.js'
import type { ServerUnderLoad } from './server-under-load.js'
import { type Loaded, loadWithWrk, type WrkLoad } from './wrk.js'

/** How long each server is loaded at a time, and how often. */
export interface Turns {
  turns: number
  secondsPerTurn: number
}

/**
 * What a server can do, and that against a yardstick. The two take turns of a few seconds under the same load: whatever
 * else the machine does meanwhile, it does to both. Measured one after the other, they differ by more than what they are
 * held to. Of the turns the median counts.
 */
export async function loadByTurns(
  own: ServerUnderLoad,
  yardstick: ServerUnderLoad,
  load: WrkLoad,
  { turns, secondsPerTurn }: Turns,
): Promise<{ requests: number; figures: Figures }> {
  const all: { own: Loaded; other: Loaded }[] = []
  let cpuUs = 0
  for (let turn = 0; turn < turns; turn++) {
    const before = own.cpuUs()
    const loaded = await loadWithWrk(own.url, load, secondsPerTurn)
    cpuUs += (own.cpuUs() ?? Number.NaN) - (before ?? Number.NaN)
    all.push({ own: loaded, other: await loadWithWrk(yardstick.url, load, secondsPerTurn) })
  }
  const requests = all.reduce((sum, { own }) => sum + own.requests, 0)
  return {
    requests,
    figures: {
      perSecond: median(all.map(({ own }) => perSecond(own))),
      perSecondToYardstick: median(all.map(({ own, other }) => perSecond(own) / perSecond(other))),
      p50Us: median(all.map(({ own }) => own.p50Us)),
      p99Us: median(all.map(({ own }) => own.p99Us)),
      // Where the system does not tell, nothing is shown.
      ...(Number.isNaN(cpuUs) ? {} : { cpuUs: cpuUs / requests }),
    },
  }
}

function perSecond({ requests, seconds }: Loaded): number {
  return requests / seconds
}
