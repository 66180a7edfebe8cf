import { type Figures, median } from '../report/figures.js'
import type { ServerUnderLoad } from './server-under-load.js'
import { loadWithWrk, type WrkLoad, type WrkResult } from './wrk.js'

/** How long each server is loaded per turn, and how many turns it gets. */
export interface Turns {
  turns: number
  secondsPerTurn: number
}

/**
 * The throughput of a server, and its ratio to a baseline. The two take turns of a few seconds under the same load, so
 * that noise of the machine affects both. The median of the turns counts.
 */
export async function loadByTurns(
  server: ServerUnderLoad,
  baseline: ServerUnderLoad,
  load: WrkLoad,
  { turns, secondsPerTurn }: Turns,
): Promise<{ requests: number; figures: Figures }> {
  const all: { measured: WrkResult; base: WrkResult }[] = []
  let cpuUs = 0
  for (let turn = 0; turn < turns; turn++) {
    const before = server.cpuUs()
    const measured = await loadWithWrk(server.url, load, secondsPerTurn)
    cpuUs += (server.cpuUs() ?? Number.NaN) - (before ?? Number.NaN)
    all.push({ measured, base: await loadWithWrk(baseline.url, load, secondsPerTurn) })
  }
  const requests = all.reduce((sum, { measured }) => sum + measured.requests, 0)
  return {
    requests,
    figures: {
      perSecond: median(all.map(({ measured }) => perSecond(measured))),
      perSecondToBaseline: median(all.map(({ measured, base }) => perSecond(measured) / perSecond(base))),
      p50Us: median(all.map(({ measured }) => measured.p50Us)),
      p99Us: median(all.map(({ measured }) => measured.p99Us)),
      // Missing where the system does not report processor time.
      ...(Number.isNaN(cpuUs) ? {} : { cpuUs: cpuUs / requests }),
    },
  }
}

function perSecond({ requests, seconds }: WrkResult): number {
  return requests / seconds
}
