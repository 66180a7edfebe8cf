import { LOAD_CORE, pinToCore } from '../load/cpu-cores.js'
import { percentile } from '../load/percentile.js'
import type { Figures } from '../report/figures.js'
import { call, encodeCall, openSession } from './rls-calls.js'
import { RLS_SCENARIOS } from './rls-scenarios.js'
import { DOMAIN } from './rls-set-up.js'

/* Loads a rate limit service for some seconds: so many requests in flight, each followed by the next. */

pinToCore(LOAD_CORE)
const [name = '', address = '', secondsText = ''] = process.argv.slice(2)
const { users, connections, inFlight } = RLS_SCENARIOS[name]!
const sessions = await Promise.all(Array.from({ length: connections }, () => openSession(address)))
const frames = Array.from({ length: users }, (_, i) => encodeCall(DOMAIN, 'user', `user-${i}`))
const timesUs: number[] = []
let failures = 0
let next = 0
const start = performance.now()
const endMs = start + Number(secondsText) * 1000

async function send(lane: number): Promise<void> {
  const session = sessions[lane % sessions.length]!
  while (performance.now() < endMs) {
    const sent = performance.now()
    const answer = await call(session, frames[next++ % frames.length]!).catch(() => undefined)
    if (answer === undefined || answer.isOver) failures++
    timesUs.push((performance.now() - sent) * 1000)
  }
}

await Promise.all(Array.from({ length: inFlight }, (_, lane) => send(lane)))
const seconds = (performance.now() - start) / 1000
for (const session of sessions) session.close()
const all = Float64Array.from(timesUs)
const figures: Figures = {
  perSecond: timesUs.length / seconds,
  p50Us: percentile(all, 0.5),
  p99Us: percentile(all, 0.99),
  allowed: timesUs.length,
  failures,
}
process.send!(figures)
