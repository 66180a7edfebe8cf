import { useMemo } from 'preact/hooks'
import { usePage } from '../../page/page-context.js'
import { mostAdmittedSoFar } from '../../simulation/most-admitted.js'
import { countUpTo } from '../../simulation/times.js'
import type { Playback } from '../playback/playback.js'
import { Most } from '../timeline/facts.js'
import type { LeaseScenario } from './lease-settings.js'

/** Compares what was admitted so far with the bound that the algorithm promises without a lease. */
export function LimitHeld({
  scenario,
  admittedMs,
  playback,
}: {
  scenario: LeaseScenario
  admittedMs: readonly number[]
  playback: Playback
}) {
  const { words } = usePage()
  const { policies, originMs, limit } = scenario
  const [exact] = policies
  const most = useMemo(() => mostAdmittedSoFar(exact, originMs, admittedMs), [scenario, admittedMs])
  return (
    <Most
      mostAt={(at) => most[countUpTo(admittedMs, at) - 1] ?? 0}
      limit={limit}
      text={exact.algorithm === 'token-bucket' ? words.leases.burst : words.leases.inWindow}
      playback={playback}
    />
  )
}
