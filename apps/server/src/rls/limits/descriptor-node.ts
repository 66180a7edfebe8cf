import type { DescriptorRule } from './rule.js'

/** A descriptor of a file with the descriptors inside it. */
export interface DescriptorNode {
  /** By `key` or `key_value`. */
  readonly children: Map<string, DescriptorNode>
  /** The children with `*` in their name, in the order of the file. */
  readonly wildcards: Wildcard[]
  readonly rule: DescriptorRule | undefined
  readonly hasValueInMetric: boolean
  /** Whether all values that match its wildcard share one count. */
  readonly isShared: boolean
  readonly metadata: Readonly<Record<string, unknown>> | undefined
}

interface Wildcard {
  readonly name: string
  /** The name split at `*`. */
  readonly parts: readonly string[]
  readonly node: DescriptorNode
}

/** The root of a domain. */
export interface Domain extends DescriptorNode {
  /** Whether a request's hits are taken from all of its rules or from none. */
  readonly isAtomic: boolean
  /** Whether the name of any rule's statistics depends on the values of a request. */
  readonly hasValueMetrics: boolean
}

export function addChild(parent: DescriptorNode, name: string, node: DescriptorNode): void {
  parent.children.set(name, node)
  if (name.includes('*')) parent.wildcards.push({ name, parts: name.split('*'), node })
}

/** Whether a text matches a pattern that was split at `*`; each `*` stands for any characters or none. */
export function matchesWildcard(parts: readonly string[], text: string): boolean {
  const first = parts[0]!
  const last = parts.at(-1)!
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last))
    return false
  const end = text.length - last.length
  let at = first.length
  for (let i = 1; i < parts.length - 1; i++) {
    const index = text.indexOf(parts[i]!, at)
    if (index < 0 || index + parts[i]!.length > end) return false
    at = index + parts[i]!.length
  }
  return true
}
