import type { Policy, Store } from '@tidegate/core'
import { ALGORITHM_CHOICES, type AlgorithmLabel, labelOf } from './algorithms.js'
import type { Config } from './config/config.js'
import { compileRoutes } from './gateway/compile.js'
import type { Route } from './gateway/route.js'
import type { Router } from './gateway/router.js'
import type { NotedKeys } from './live/noted-keys.js'
import { type Meter, type Metrics, recordCheck } from './metrics/metrics.js'
import { type Tokens, tokensOf } from './tokens.js'

/** A configuration as the service uses it. It is replaced as a whole: a request sees the old one or the new one. */
export interface InForce {
  readonly config: Config
  /** By name: those of the file, and those that filters of the gateway have brought along. */
  readonly policies: ReadonlyMap<string, PolicyInForce>
  /** The built-in ones, by what they are asked for as `algorithm`. */
  readonly byAlgorithm: ReadonlyMap<string, PolicyInForce>
  /** Of a check that names none. */
  readonly defaultPolicy: PolicyInForce
  readonly tokens: Tokens
  /** The gateway's routes; undefined if there is no gateway. */
  readonly router: Router<Route> | undefined
}

export interface PolicyInForce {
  readonly policy: Policy
  readonly algorithm: AlgorithmLabel
  readonly meter: Meter
  /** Whether keys are shown to nobody, not even to administrators: only their hashes. */
  readonly hasSecretKeys: boolean
}

/** Where checks are decided, and where they are noted. */
interface Uses {
  readonly store: Store
  readonly metrics: Metrics
  readonly keys: NotedKeys
  readonly generatedAdminToken: string
}

export function inForceOf(config: Config, { store, metrics, keys, generatedAdminToken }: Uses): InForce {
  const all = [...config.policies.values(), ...(config.gateway?.policies ?? [])]
  const meters = metrics.metersFor(all)
  const policies = new Map<string, PolicyInForce>()
  for (const policy of all) {
    policies.set(policy.name, {
      policy,
      algorithm: labelOf(policy),
      meter: meters.get(policy.name)!,
      hasSecretKeys: config.secretKeys.has(policy.name),
    })
  }
  const byAlgorithm = new Map<string, PolicyInForce>()
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
        const by = policies.get(decision.policy)!
        recordCheck(by.meter, decision.allowed, seconds)
        if (decision.degraded !== undefined) metrics.countDegraded(decision.degraded)
        if (keys.isOn) keys.note(by, key, decision.allowed)
      }),
  }
}
