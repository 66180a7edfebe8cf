import type { RequestFacts } from '../request.js'
import { defineMatch, type RuleInput } from '../rules/rules.js'

/** A rule that misses a request below the mount path, because its path is written without the mount path. */
export interface MountedRule {
  /** The name of the rule, or its position in the list. */
  readonly rule: string
  readonly pattern: string
  readonly mount: string
  /** The full path of the request. */
  readonly path: string
}

interface PathRule {
  readonly name: string | undefined
  readonly match: NonNullable<RuleInput['match']>
  matches(facts: RequestFacts): boolean
}

/**
 * Returns a function that reports each such rule once. It is called with each request and the rules that match it. A rule
 * that has matched a request is not reported: one middleware can be mounted at several paths.
 */
export function createMountCheck(
  rules: readonly PathRule[],
  report: (rule: MountedRule) => void,
): (facts: RequestFacts, matching: readonly PathRule[]) => void {
  const unseen = new Set(rules.filter(({ match }) => match.path !== undefined))
  /** Misuse appears early, so later requests are not inspected. */
  let inspectionsLeft = 10_000

  return (facts, matching) => {
    if (unseen.size === 0 || inspectionsLeft === 0) return
    inspectionsLeft--
    for (const rule of matching) unseen.delete(rule)
    const { mount = '', path } = facts
    if (mount === '' || !path.startsWith(`${mount}/`)) return
    const below: RequestFacts = Object.create(facts, {
      path: { value: path.slice(mount.length) },
      otherPaths: { value: undefined },
    })
    for (const rule of unseen) {
      if (!rule.matches(below)) continue
      unseen.delete(rule)
      const patterns = [rule.match.path!].flat()
      const pattern = patterns.find((one) => defineMatch({ path: one })(below))!
      report({ rule: rule.name ?? `rules[${rules.indexOf(rule)}]`, pattern, mount, path })
    }
  }
}
