import { definePolicy, fixedWindow, type Policy } from '@tidegate/core'
import type { Path } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'
import { withUnits } from '../../config-file/duration-units.js'
import { buildCollectingErrors } from '../../config-file/factory.js'
import { didYouMean } from '../../config-file/suggestions.js'
import { BUILT_IN } from '../schema/built-in-policies.js'

export const BUILT_IN_POLICIES: ReadonlyMap<string, Policy> = new Map(
  Object.entries(BUILT_IN).map(([name, numbers]) => [name, definePolicy({ name, ...numbers })]),
)

/** Used in place of an invalid policy, so that references to it do not report the same error again. */
const STAND_IN = fixedWindow({ limit: 1_000_000_000, window: '1ms' })

/** Valid values in place of invalid fields, so that the other fields are checked too. The smallest numbers fit any others. */
const STAND_INS = {
  limit: 1,
  window: '1ms',
  capacity: 1,
  refillRate: 1,
  leakRate: 1,
  ttl: undefined,
  start: undefined,
  timeZone: undefined,
  countDenied: undefined,
  blockFor: undefined,
  lease: undefined,
  onStoreFailure: undefined,
  instances: undefined,
}

/** Reads the policies by name: the built-in ones, with numbers of the file if it has any, and those of the file. */
export function readPolicies(document: ConfigDocument): Map<string, Policy> {
  const policies = new Map(BUILT_IN_POLICIES)
  const entries = document.at(['policies'])
  if (typeof entries !== 'object' || entries === null || Array.isArray(entries)) return policies
  for (const [name, entry] of Object.entries(entries)) {
    const path = ['policies', name]
    policies.set(name, STAND_IN)
    checkName(document, path, name)
    if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) continue
    const factory = (fields: object) => definePolicy({ ...fields, name: document.isValid(path) ? name : 'x' })
    const warn = (field: string, message: string) => document.addWarning([...path, field], message)
    const fields = withUnits(fieldsOf(document, name, entry), warn)
    const policy = buildCollectingErrors(document, path, fields, factory, STAND_INS)
    if (policy !== undefined && document.isValid(path)) policies.set(name, policy)
  }
  return policies
}

/** The prefix of the service's own policies. */
const RESERVED_PREFIX = 'tidegate-'

function checkName(document: ConfigDocument, path: Path, name: string): void {
  if (name.startsWith(RESERVED_PREFIX)) {
    document.addError(
      path,
      `a policy's name must not begin with "${RESERVED_PREFIX}", which is reserved for the service; write for example per-user`,
      'key',
    )
    return
  }
  try {
    fixedWindow({ name, limit: 1, window: '1ms' })
  } catch (error) {
    document.addError(path, `a policy's ${(error as Error).message.replace(/\.$/, '')}`, 'key')
  }
}

/** The fields of an entry with the defaults of a built-in policy, without unknown fields, which are reported elsewhere. */
function fieldsOf(document: ConfigDocument, name: string, entry: object): Record<string, unknown> {
  const options = Object.keys(document.schemaAt(['policies', name])?.properties ?? {})
  const isOfPolicy = (field: string) => options.includes(field) && field !== 'keys'
  const fields = Object.fromEntries(Object.entries(entry).filter(([field]) => isOfPolicy(field)))
  if (!Object.hasOwn(BUILT_IN, name)) return fields
  const builtIn = BUILT_IN[name as keyof typeof BUILT_IN]
  return { ...builtIn, ...fields, algorithm: builtIn.algorithm }
}

/** The names of the policies with `keys: secret`, an option of the dashboard and not of the policy. */
export function readSecretKeys(document: ConfigDocument): Set<string> {
  const entries = (document.at(['policies']) ?? {}) as Record<string, unknown>
  return new Set(Object.keys(entries).filter((name) => document.at(['policies', name, 'keys']) === 'secret'))
}

/** Returns the policy that is named at a path. An unknown name is reported, and a stand-in returned. */
export function policyAt(
  document: ConfigDocument,
  path: Path,
  policies: ReadonlyMap<string, Policy>,
): Policy {
  const name = document.at(path)
  if (typeof name !== 'string' || !document.isValid(path)) return STAND_IN
  const policy = policies.get(name)
  if (policy !== undefined) return policy
  const names = [...policies.keys()]
  const namesInFile = names.filter((name) => !BUILT_IN_POLICIES.has(name))
  const choices = [...namesInFile, ...BUILT_IN_POLICIES.keys()].slice(0, 20).join(', ')
  const advice = didYouMean(name, names) ?? `write one of ${choices}`
  document.addError(path, `unknown policy ${JSON.stringify(name)}; ${advice}`)
  return STAND_IN
}
