import { setTimeout as sleep } from 'node:timers/promises'
import { accuracyContender } from './accuracy-contenders.js'
import { accuracyScenarioNamed } from './accuracy-scenarios.js'
import type { Admission } from './fullest-interval.js'

/*
 * One of the processes that share a limit. Arguments: scenario, contender, URL of Redis. Sends 'ready', waits for the
 * time to start, and then sends its result.
 */

/** The result of one process. Times are milliseconds since 1970. */
export interface Seen {
  /** The start of each check. */
  checksMs: number[]
  admitted: Admission[]
  cpuUs: number
}

const KEY = 'everyone'
/** Far enough from the ends of the windows: timers are a few milliseconds late. */
const MARGIN_MS = 20
/** The maximum time for responses after the last check, because a queue would continue until it is empty. */
const ANSWERS_WITHIN_MS = 300

const [scenarioName = '', contenderName = '', url = ''] = process.argv.slice(2)
const { processes, limit, windows, demand } = accuracyScenarioNamed(scenarioName)
const subject = await accuracyContender(contenderName).make(url, limit, processes)

process.once('message', async (startMs: number) => {
  const seen = await load(startMs + MARGIN_MS, startMs + 1000 * windows - MARGIN_MS)
  process.send?.(seen, async () => {
    await subject.close()
    process.exit(0)
  })
})
process.send?.('ready')

/** Makes evenly spaced checks, without waiting for earlier responses. */
async function load(fromMs: number, toMs: number): Promise<Seen> {
  const seen: Seen = { checksMs: [], admitted: [], cpuUs: 0 }
  const inFlight = new Set<Promise<void>>()
  await sleep(fromMs - Date.now())
  const cpu = process.cpuUsage()
  for (let nowMs = exactNowMs(); nowMs < toMs; nowMs = exactNowMs()) {
    const due = Math.floor(((nowMs - fromMs) / 1000) * (demand / processes))
    while (seen.checksMs.length < due) {
      const check = checkOnce(seen).finally(() => inFlight.delete(check))
      inFlight.add(check)
    }
    await sleep(1)
  }
  await Promise.race([Promise.all(inFlight), sleep(ANSWERS_WITHIN_MS)])
  const { user, system } = process.cpuUsage(cpu)
  return { ...seen, cpuUs: user + system }
}

async function checkOnce({ checksMs, admitted }: Seen): Promise<void> {
  const start = exactNowMs()
  checksMs.push(start)
  if (!(await subject.isAllowed(KEY))) return
  const end = exactNowMs()
  admitted.push({ start: subject.isQueue ? end : start, end })
}

/** The same clock in all processes, with fractions. */
function exactNowMs(): number {
  return performance.timeOrigin + performance.now()
}
