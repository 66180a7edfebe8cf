import { useEffect, useState } from 'preact/hooks'
import { usePage } from '../../page/page-context.js'
import { MAX_ARRIVALS } from '../../simulation/arrivals.js'
import { type LeaseRun, simulateLeases } from '../../simulation/leases.js'
import { useSettings } from '../use-settings.js'
import { LeaseControls } from './lease-controls.js'
import {
  type LeaseScenario,
  leaseScenarioOf,
  readLeaseSettings,
  writeLeaseSettings,
} from './lease-settings.js'
import { LeaseTimeline } from './lease-timeline.js'

/** The same requests and limit, with and without a lease. */
export function Leases() {
  const { words } = usePage()
  const [settings, change] = useSettings(readLeaseSettings, writeLeaseSettings)
  // The simulation is asynchronous. Until it ends, the one before stays.
  const [simulated, setSimulated] = useState<{ scenario: LeaseScenario; run: LeaseRun }>()
  useEffect(() => {
    let isCurrent = true
    const scenario = leaseScenarioOf(settings)
    simulateLeases(scenario.policies[1], scenario).then((run) => {
      if (isCurrent) setSimulated({ scenario, run })
    })
    return () => {
      isCurrent = false
    }
  }, [settings])
  return (
    <>
      <LeaseControls settings={settings} change={change} />
      {simulated?.scenario.isCut && <p class="note">{words.lab.cut(MAX_ARRIVALS)}</p>}
      {simulated !== undefined && <LeaseTimeline scenario={simulated.scenario} leased={simulated.run} />}
    </>
  )
}
