import type { Policy } from '@tidegate/core'
import { defineRule, type Rule, type RuleInput } from '@tidegate/http'
import type { ConfigDocument } from './document.js'
import { isTaken, made } from './factory.js'
import type { Path } from './mistakes.js'
import { BUILT_IN_POLICIES, policyAt } from './policies.js'

const STAND_INS = { name: 'stand-in', key: 'stand-in', cost: 1 }

export function readRules(document: ConfigDocument, policies: ReadonlyMap<string, Policy>): Rule[] {
  const entries = document.at(['rules'])
  if (!Array.isArray(entries)) return []
  const names = new Set<string>()
  const rules: Rule[] = []
  entries.forEach((entry, i) => {
    const path = ['rules', i]
    if (!isObject(entry)) return
    const policy = policyAt(document, [...path, 'policy'], policies)
    const { name, key, cost } = entry
    const match = readMatch(document, [...path, 'match'], entry.match)
    const fields = { name, key, match, policy: policy.name, ...(cost === undefined ? {} : { cost }) }
    const factory = (fields: object) => defineRule(fields as RuleInput, () => policy)
    const rule = made(document, path, fields, factory, STAND_INS)
    if (rule === undefined) return
    if (names.has(rule.name)) document.wrong([...path, 'name'], 'another rule has this name; choose another')
    names.add(rule.name)
    rules.push(rule)
  })
  return rules
}

type Match = NonNullable<RuleInput['match']>

/** The conditions of a rule that are right; each of them is tried by itself, so that each can be noted. */
function readMatch(document: ConfigDocument, path: Path, match: unknown): Match {
  if (!isObject(match)) return {}
  const isRight = (where: Path, alone: object) =>
    isTaken(document, [...path, ...where], () => defineRule({ ...ANY_RULE, match: alone }, () => ANY_POLICY))
  const items = (field: 'path' | 'methods', list: readonly unknown[]) =>
    list.filter((item, i) => isRight([field, i], { [field]: [item] })) as string[]
  const right: { -readonly [Field in keyof Match]: Match[Field] } = {}
  if (Array.isArray(match.path)) right.path = items('path', match.path)
  else if (match.path !== undefined && isRight(['path'], { path: match.path }))
    right.path = match.path as string
  if (Array.isArray(match.methods)) right.methods = items('methods', match.methods)
  if (isObject(match.header)) {
    const headers = Object.entries(match.header)
    right.header = Object.fromEntries(
      headers.filter(([name, value]) => isRight(['header', name], { header: { [name]: value } })),
    ) as Record<string, string>
  }
  // What had nothing right in it is no condition.
  if (right.path?.length === 0) delete right.path
  if (right.methods?.length === 0) delete right.methods
  return right
}

const ANY_RULE = { name: 'any', key: 'any', policy: 'any' }
const ANY_POLICY = BUILT_IN_POLICIES.get('token_bucket')!

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
