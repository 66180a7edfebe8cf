import type { FullStore, Policy } from '@tidegate/core'
import { ALGORITHM_CHOICES, type AlgorithmLabel, labelOf } from './algorithms.js'
import type { Config } from './config/config.js'
import type { Route } from './gateway/route.js'
import { compileRoutes } from './gateway/routing/compile-routes.js'
import type { Router } from './gateway/routing/router.js'
import { type Meter, type Metrics, recordCheck } from './metrics/metrics.js'
import { type Tokens, tokensOf } from './tokens.js'
import type { KeyTracker } from './top-keys/key-tracker.js'

/** The configuration in use. A reload replaces the whole object, so a request sees one configuration. */
export interface ActiveConfig {
  readonly config: Config
  /** By name: the policies of the file, and those of the gateway's filters. */
  readonly policies: ReadonlyMap<string, ActivePolicy>
  /** The built-in policies, by the value of `algorithm` in a check. */
  readonly byAlgorithm: ReadonlyMap<string, ActivePolicy>
  /** The policy of a check without one. */
  readonly defaultPolicy: ActivePolicy
  readonly tokens: Tokens
  /** The gateway's routes; undefined without a gateway. */
  readonly router: Router<Route> | undefined
}

export interface ActivePolicy {
  readonly policy: Policy
  readonly algorithm: AlgorithmLabel
  readonly meter: Meter
  /** Whether keys are shown only as hashes, also to administrators. */
  readonly hasSecretKeys: boolean
}

/** The parts of the service that a configuration uses. */
interface ServiceParts {
  readonly store: FullStore
  readonly metrics: Metrics
  readonly keys: KeyTracker
  readonly generatedAdminToken: string
}

export function activateConfig(
  config: Config,
  { store, metrics, keys, generatedAdminToken }: ServiceParts,
): ActiveConfig {
  const all = [...config.policies.values(), ...(config.gateway?.policies ?? [])]
  const meters = metrics.metersFor(all)
  const policies = new Map<string, ActivePolicy>()
  for (const policy of all) {
    policies.set(policy.name, {
      policy,
      algorithm: labelOf(policy),
      meter: meters.get(policy.name)!,
      hasSecretKeys: config.secretKeys.has(policy.name),
    })
  }
  const byAlgorithm = new Map<string, ActivePolicy>()
  for (const [label, name] of Object.entries(ALGORITHM_CHOICES)) byAlgorithm.set(label, policies.get(name)!)
  return {
    config,
    policies,
    byAlgorithm,
    defaultPolicy: policies.get(config.defaultPolicy.name)!,
    tokens: tokensOf(config, generatedAdminToken),
    router:
      config.gateway &&
      compileRoutes(config.gateway, store, ({ key, decision }, seconds) => {
        const activePolicy = policies.get(decision.policy)!
        recordCheck(activePolicy.meter, decision.allowed, seconds)
        if (decision.degraded !== undefined) metrics.recordDegraded(decision.degraded)
        if (keys.isTracking) keys.record(activePolicy, key, decision.allowed)
      }),
  }
}
