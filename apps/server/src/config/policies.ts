import { definePolicy, fixedWindow, type Policy } from '@tidegate/core'
import { BUILT_IN } from './built-in.js'
import type { ConfigDocument } from './document.js'
import { made } from './factory.js'
import { schemaOf } from './json-schema.js'
import type { Path } from './mistakes.js'
import { didYouMean } from './nearest.js'
import { valueSchema } from './schema.js'

export const BUILT_IN_POLICIES: ReadonlyMap<string, Policy> = new Map(
  Object.entries(BUILT_IN).map(([name, numbers]) => [name, definePolicy({ name, ...numbers })]),
)

/** Stands in for a policy with a mistake, so that who refers to it is not told of the same mistake again. */
const STAND_IN = fixedWindow({ limit: 1_000_000_000, window: 1 })

/** What lets the other fields be looked at: the smallest numbers, which get on with all others. */
const STAND_INS = {
  limit: 1,
  window: 1,
  capacity: 1,
  refillRate: 1,
  leakRate: 1,
  onStoreFailure: undefined,
  instances: undefined,
}

/** The policies in force by name: the built-in ones, some of them perhaps with other numbers, and the file's own. */
export function readPolicies(document: ConfigDocument): Map<string, Policy> {
  const policies = new Map(BUILT_IN_POLICIES)
  const entries = document.at(['policies'])
  if (typeof entries !== 'object' || entries === null || Array.isArray(entries)) return policies
  for (const [name, entry] of Object.entries(entries)) {
    const path = ['policies', name]
    policies.set(name, STAND_IN)
    checkName(document, path, name)
    if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) continue
    const factory = (fields: object) => definePolicy({ ...fields, name: document.isRight(path) ? name : 'x' })
    const policy = made(document, path, fieldsOf(name, entry), factory, STAND_INS)
    if (policy !== undefined && document.isRight(path)) policies.set(name, policy)
  }
  return policies
}

/** Of policies that the service has for itself: nobody else may count there. */
const OWN_PREFIX = 'tidegate-'

function checkName(document: ConfigDocument, path: Path, name: string): void {
  if (name.startsWith(OWN_PREFIX)) {
    document.wrong(
      path,
      `a policy's name must not begin with ${OWN_PREFIX}: those are the service's own`,
      'key',
    )
    return
  }
  try {
    fixedWindow({ name, limit: 1, window: 1 })
  } catch (error) {
    document.wrong(path, `a policy's ${(error as Error).message.replace(/\.$/, '')}`, 'key')
  }
}

/** What an entry says, without what is not known there (which is noted), and with what a built-in has by default. */
function fieldsOf(name: string, entry: object): Record<string, unknown> {
  const known = Object.keys(schemaOf(valueSchema.properties?.policies, name)?.properties ?? {})
  const isOfPolicy = (field: string) => known.includes(field) && field !== 'keys'
  const given = Object.fromEntries(Object.entries(entry).filter(([field]) => isOfPolicy(field)))
  if (!Object.hasOwn(BUILT_IN, name)) return given
  const builtIn = BUILT_IN[name as keyof typeof BUILT_IN]
  return { ...builtIn, ...given, algorithm: builtIn.algorithm }
}

/** The policies that say `keys: secret`. How keys are shown is nothing that a policy counts by. */
export function readSecretKeys(document: ConfigDocument): Set<string> {
  const entries = (document.at(['policies']) ?? {}) as Record<string, unknown>
  return new Set(Object.keys(entries).filter((name) => document.at(['policies', name, 'keys']) === 'secret'))
}

/** The policy that a name in the file means; what is not one is noted, and a stand-in is meant. */
export function policyAt(
  document: ConfigDocument,
  path: Path,
  policies: ReadonlyMap<string, Policy>,
): Policy {
  const name = document.at(path)
  if (typeof name !== 'string' || !document.isRight(path)) return STAND_IN
  const policy = policies.get(name)
  if (policy !== undefined) return policy
  const names = [...policies.keys()]
  const own = names.filter((name) => !BUILT_IN_POLICIES.has(name))
  const choices = [...own, ...BUILT_IN_POLICIES.keys()].slice(0, 20).join(', ')
  const instead = didYouMean(name, names) ?? `write one of ${choices}`
  document.wrong(path, `there is no policy ${JSON.stringify(name)}; ${instead}`)
  return STAND_IN
}
