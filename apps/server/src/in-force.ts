import type { Policy } from '@tidegate/core'
import { ALGORITHM_CHOICES, type AlgorithmLabel, labelOf } from './algorithms.js'
import type { Config } from './config/config.js'
import type { Meter, Metrics } from './metrics/metrics.js'
import { type Tokens, tokensOf } from './tokens.js'

/** A configuration as the service uses it. It is replaced as a whole: a request sees the old one or the new one. */
export interface InForce {
  readonly config: Config
  /** By name. */
  readonly policies: ReadonlyMap<string, PolicyInForce>
  /** The built-in ones, by what they are asked for as `algorithm`. */
  readonly byAlgorithm: ReadonlyMap<string, PolicyInForce>
  /** Of a check that names none. */
  readonly defaultPolicy: PolicyInForce
  readonly tokens: Tokens
}

export interface PolicyInForce {
  readonly policy: Policy
  readonly algorithm: AlgorithmLabel
  readonly meter: Meter
}

export function inForceOf(config: Config, metrics: Metrics): InForce {
  const meters = metrics.metersFor(config.policies.values())
  const policies = new Map<string, PolicyInForce>()
  for (const [name, policy] of config.policies) {
    policies.set(name, { policy, algorithm: labelOf(policy), meter: meters.get(name)! })
  }
  const byAlgorithm = new Map<string, PolicyInForce>()
  for (const [label, name] of Object.entries(ALGORITHM_CHOICES)) byAlgorithm.set(label, policies.get(name)!)
  return {
    config,
    policies,
    byAlgorithm,
    defaultPolicy: policies.get(config.defaultPolicy.name)!,
    tokens: tokensOf(config),
  }
}
