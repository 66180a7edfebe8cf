import { type DescriptorNode, type Domain, matchesWildcard } from './descriptor-node.js'
import type { DescriptorRule } from './rule.js'

export interface DescriptorEntry {
  readonly key: string
  readonly value: string
}

/** The rule that a descriptor of a request matches. */
export interface Match {
  readonly rule: DescriptorRule
  /** The entries for the key, with the pattern in place of the value if all values of a wildcard share one count. */
  readonly keyEntries: readonly DescriptorEntry[]
  /** The name of its statistics. */
  readonly metric: string
  readonly metadata: Readonly<Record<string, unknown>> | undefined
}

/**
 * Finds the rule of a descriptor. At each level an exact `key_value` comes first, then the wildcards in the order of the
 * file, then the key without a value. Only a rule at the depth of the last entry matches.
 */
export function matchRule(
  domain: Domain,
  domainName: string,
  entries: readonly DescriptorEntry[],
): Match | undefined {
  let parent: DescriptorNode = domain
  let keyEntries: DescriptorEntry[] | undefined
  let metric = domainName
  let detailed = domainName
  let isOwnMetric = true
  const lastIndex = entries.length - 1
  for (let i = 0; i <= lastIndex; i++) {
    const entry = entries[i]!
    const { key, value } = entry
    const full = `${key}_${value}`
    const exact = parent.children.get(full)
    const wildcard = exact === undefined ? wildcardOf(parent, full) : undefined
    const node = exact ?? wildcard?.node ?? parent.children.get(key)
    if (node === undefined) return undefined
    if (wildcard !== undefined && node.isShared) {
      keyEntries ??= entries.slice()
      keyEntries[i] = { key, value: valuePattern(wildcard.name, key) }
    }
    if (domain.hasValueMetrics) {
      if (node.hasValueInMetric) isOwnMetric = false
      metric += `.${metricPart(node, entry, exact, wildcard?.name)}`
      const share = keyEntries?.[i]
      detailed += share === undefined || share === entry ? `.${full}` : `.${key}_${share.value}`
    }
    if (i === lastIndex) {
      const { rule, metadata } = node
      if (rule === undefined) return undefined
      const name = rule.hasDetailedMetric ? detailed : isOwnMetric ? rule.path : metric
      return { rule, keyEntries: keyEntries ?? entries, metric: name, metadata }
    }
    if (node.children.size === 0) return undefined
    parent = node
  }
  return undefined
}

function wildcardOf({ wildcards }: DescriptorNode, full: string) {
  // Not `find`, which would cost a closure for each entry of each request.
  for (const wildcard of wildcards) if (matchesWildcard(wildcard.parts, full)) return wildcard
  return undefined
}

function metricPart(
  node: DescriptorNode,
  { key, value }: DescriptorEntry,
  exact: DescriptorNode | undefined,
  wildcard: string | undefined,
): string {
  if (wildcard !== undefined && (node.isShared || !node.hasValueInMetric)) return wildcard
  if (exact === undefined && wildcard === undefined && !node.hasValueInMetric) return key
  return value === '' ? key : `${key}_${value}`
}

function valuePattern(name: string, key: string): string {
  const prefix = `${key}_`
  return name.startsWith(prefix) ? name.slice(prefix.length) : name
}
