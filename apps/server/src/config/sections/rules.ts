import type { Policy } from '@tidegate/core'
import { defineRule, type Rule, type RuleInput } from '@tidegate/http'
import { type Path, quote } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'
import { buildCollectingErrors, collectError } from '../../config-file/factory.js'
import { isFields } from '../../config-file/value-kinds.js'
import { BUILT_IN_POLICIES, policyAt } from './policies.js'

const STAND_INS = { name: 'stand-in', key: 'stand-in', cost: 1 }

export function readRules(document: ConfigDocument, policies: ReadonlyMap<string, Policy>): Rule[] {
  const entries = document.at(['rules'])
  if (!Array.isArray(entries)) return []
  const names = new Set<string>()
  const rules: Rule[] = []
  entries.forEach((entry, i) => {
    const path = ['rules', i]
    if (!isFields(entry)) return
    const policy = policyAt(document, [...path, 'policy'], policies)
    const { name, key, cost } = entry
    const match = readMatch(document, [...path, 'match'], entry.match)
    const fields = { name, key, match, policy: policy.name, ...(cost === undefined ? {} : { cost }) }
    const factory = (fields: object) => defineRule(fields as RuleInput, () => policy)
    const rule = buildCollectingErrors(document, path, fields, factory, STAND_INS)
    if (rule === undefined) return
    if (names.has(rule.name))
      document.addError([...path, 'name'], `another rule is named ${quote(rule.name)}; choose another name`)
    names.add(rule.name)
    rules.push(rule)
  })
  return rules
}

type Match = NonNullable<RuleInput['match']>

/** Reads the valid conditions of a rule. Each condition is checked on its own, so that every error is reported. */
function readMatch(document: ConfigDocument, path: Path, match: unknown): Match {
  if (!isFields(match)) return {}
  const isValid = (where: Path, condition: object) =>
    collectError(document, [...path, ...where], () =>
      defineRule({ ...ANY_RULE, match: condition }, () => ANY_POLICY),
    )
  const items = (field: 'path' | 'methods', list: readonly unknown[]) =>
    list.filter((item, i) => isValid([field, i], { [field]: [item] })) as string[]
  const valid: { -readonly [Field in keyof Match]: Match[Field] } = {}
  if (Array.isArray(match.path)) valid.path = items('path', match.path)
  else if (match.path !== undefined && isValid(['path'], { path: match.path }))
    valid.path = match.path as string
  if (Array.isArray(match.methods)) valid.methods = items('methods', match.methods)
  if (isFields(match.header)) {
    const headers = Object.entries(match.header)
    valid.header = Object.fromEntries(
      headers.filter(([name, value]) => isValid(['header', name], { header: { [name]: value } })),
    ) as Record<string, string>
  }
  if (valid.path?.length === 0) delete valid.path
  if (valid.methods?.length === 0) delete valid.methods
  return valid
}

const ANY_RULE = { name: 'any', key: 'any', policy: 'any' }
const ANY_POLICY = BUILT_IN_POLICIES.get('token_bucket')!
