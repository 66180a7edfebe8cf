import type { ConfigError } from '../../config-file/config-error.js'
import type { PolicyTerms } from './define-rule.js'
import type { DescriptorNode, Domain } from './descriptor-node.js'
import { readLimitFile } from './read-limit-file.js'

/** The text of a limit file, or the error of reading it. */
export interface LimitFileText {
  readonly file: string
  readonly text: string | ConfigError
}

export interface LoadedLimits {
  readonly domains: ReadonlyMap<string, Domain>
  /** The number of rate limits. */
  readonly ruleCount: number
}

export interface FileErrors {
  readonly file: string
  readonly errors: readonly ConfigError[]
}

export interface LimitOptions extends PolicyTerms {
  /** Whether several files may have the same domain. */
  readonly mergeDomains: boolean
}

/** Loads the limits of all files, or returns all their errors. */
export function loadLimits(
  texts: readonly LimitFileText[],
  { mergeDomains, ...terms }: LimitOptions,
): { readonly limits: LoadedLimits } | { readonly errors: readonly FileErrors[] } {
  const domains = new Map<string, { domain: Domain; file: string }>()
  const errors: FileErrors[] = []
  for (const { file, text } of texts) {
    if (typeof text !== 'string') {
      errors.push({ file, errors: [text] })
      continue
    }
    const read = readLimitFile(text, terms)
    const definition = domains.get(read.domain)
    // A duplicate domain that may not be merged is only checked for errors.
    const domain = mergeDomains && definition !== undefined ? definition.domain : newDomain(read.isAtomic)
    read.addTo(domain)
    const fileErrors = [...read.errors()]
    if (definition !== undefined) fileErrors.push(...duplicateErrors(read, definition, mergeDomains))
    if (fileErrors.length > 0) errors.push({ file, errors: fileErrors })
    if (read.domain !== '') domains.set(read.domain, definition ?? { domain, file })
  }
  if (errors.length > 0) return { errors }
  let ruleCount = 0
  const all = new Map<string, Domain>()
  for (const [name, { domain }] of domains) {
    const nodes = [...nodesIn(domain)]
    ruleCount += nodes.filter(({ rule }) => rule !== undefined).length
    const hasValueMetrics = nodes.some((node) => node.hasValueInMetric || node.rule?.hasDetailedMetric)
    all.set(name, { ...domain, hasValueMetrics })
  }
  return { limits: { domains: all, ruleCount } }
}

function duplicateErrors(
  read: { readonly domain: string; readonly isAtomic: boolean },
  definition: { readonly domain: Domain; readonly file: string },
  mergeDomains: boolean,
): ConfigError[] {
  if (!mergeDomains) {
    const message = `duplicate domain ${JSON.stringify(read.domain)}, also in ${definition.file}; use another domain, or set rls.mergeDomains: true`
    return [{ line: 1, column: 1, path: 'domain', message }]
  }
  if (read.isAtomic === definition.domain.isAtomic) return []
  const message = `must be the same in all files of the domain, got ${read.isAtomic}, but ${definition.file} has ${definition.domain.isAtomic}`
  return [{ line: 1, column: 1, path: 'atomic', message }]
}

function newDomain(isAtomic: boolean): Domain {
  return {
    isAtomic,
    hasValueMetrics: false,
    children: new Map(),
    wildcards: [],
    rule: undefined,
    hasValueInMetric: false,
    isShared: false,
    metadata: undefined,
  }
}

function* nodesIn(parent: DescriptorNode): Generator<DescriptorNode> {
  for (const child of parent.children.values()) {
    yield child
    yield* nodesIn(child)
  }
}
