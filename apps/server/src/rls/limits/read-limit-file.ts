import { TidegateError } from '@tidegate/core'
import { type ConfigError, type Path, quote } from '../../config-file/config-error.js'
import { type ConfigDocument, readDocument } from '../../config-file/document.js'
import { errorMessageWithoutField } from '../../config-file/factory.js'
import { choiceOf, didYouMean } from '../../config-file/suggestions.js'
import { formatValue, isFields } from '../../config-file/value-kinds.js'
import { defineCounter, type PolicyTerms, RULE_ALGORITHMS } from './define-rule.js'
import { addChild, type DescriptorNode } from './descriptor-node.js'
import { resolveMergeKeys } from './merge-keys.js'
import type { DescriptorRule } from './rule.js'
import { isUnreadable, readScalar } from './scalars.js'
import { UNITS, UNKNOWN_UNIT } from './unit.js'

/** The content of one limit file. */
export interface LimitFile {
  readonly domain: string
  readonly isAtomic: boolean
  /** Adds the descriptors to the root of the domain, and reports duplicates. */
  addTo(root: DescriptorNode): void
  /** All errors of the file, in its order. */
  errors(): ConfigError[]
}

type Fields = Readonly<Record<string, unknown>>

const ROOT = ['domain', 'descriptors', 'atomic']
const DESCRIPTOR = [
  'key',
  'value',
  'rate_limit',
  'descriptors',
  'shadow_mode',
  'quota_mode',
  'detailed_metric',
  'value_to_metric',
  'share_threshold',
  'metadata',
]
const RATE_LIMIT = ['unit', 'requests_per_unit', 'unlimited', 'name', 'replaces', 'algorithm', 'window']
const PLACES: readonly (readonly [string, readonly string[]])[] = [
  ['the top level', ROOT],
  ['a descriptor', DESCRIPTOR],
  ['rate_limit', RATE_LIMIT],
]
const MAX_REQUESTS_PER_UNIT = 4_294_967_295

/** Reads a limit file in the format of Envoy's reference service. */
export function readLimitFile(text: string, terms: PolicyTerms): LimitFile {
  const document = readDocument(text, {}, {}, undefined, readScalar)
  const fields = resolveMergeKeys(document.value)
  if (!isReadableFields(fields)) {
    if (document.value !== undefined)
      document.addError(
        [],
        'the file must have the keys domain and descriptors; write for example domain: shop',
      )
    return { domain: '', isAtomic: false, addTo: () => {}, errors: document.errors }
  }
  reportUnknown(document, [], fields, ROOT)
  const domain = textAt(document, ['domain'], fields.domain)
  if (domain === '' && document.isValid(['domain']))
    document.addError(
      ['domain'],
      'must not be empty; write the domain of Envoy’s filter, such as domain: shop',
    )
  const isAtomic = booleanAt(document, ['atomic'], fields.atomic)
  return {
    domain,
    isAtomic,
    addTo(root) {
      addDescriptors(root, ['descriptors'], fields.descriptors, `${domain}.`)
    },
    errors: document.errors,
  }

  function addDescriptors(parent: DescriptorNode, path: Path, value: unknown, prefix: string): void {
    if (value === undefined || value === null) return
    if (!Array.isArray(value)) {
      document.addError(path, 'must be a list of descriptors; write for example - key: user')
      return
    }
    for (const [i, entry] of value.entries()) {
      const at = [...path, i]
      if (isReadableFields(entry)) addDescriptor(parent, at, entry, prefix)
      else document.addError(at, `must be a descriptor, got ${format(entry)}; write for example key: user`)
    }
  }

  function addDescriptor(parent: DescriptorNode, path: Path, fields: Fields, prefix: string): void {
    reportUnknown(document, path, fields, DESCRIPTOR)
    const flag = (name: string) => booleanAt(document, [...path, name], fields[name])
    const key = textAt(document, [...path, 'key'], fields.key)
    const value = textAt(document, [...path, 'value'], fields.value)
    if (key === '' && document.isValid([...path, 'key']))
      document.addError([...path, 'key'], 'is missing; write for example key: user')
    const name = value === '' ? key : `${key}_${value}`
    if (parent.children.has(name) && key !== '')
      document.addError(path, `duplicate descriptor ${quote(prefix + name)}; keep one`)
    const isShared = flag('share_threshold')
    if (isShared && !name.includes('*')) {
      document.addError(
        [...path, 'share_threshold'],
        `needs a value with a wildcard, got ${quote(name)}; write for example value: files/*`,
      )
    }
    const node: DescriptorNode = {
      children: new Map(),
      wildcards: [],
      rule: ruleAt(path, fields, prefix + name),
      hasValueInMetric: flag('value_to_metric'),
      isShared,
      metadata: metadataAt([...path, 'metadata'], fields.metadata),
    }
    addDescriptors(node, [...path, 'descriptors'], fields.descriptors, `${prefix}${name}.`)
    addChild(parent, name, node)
  }

  function ruleAt(descriptorPath: Path, descriptor: Fields, rulePath: string): DescriptorRule | undefined {
    const flag = (name: string) => booleanAt(document, [...descriptorPath, name], descriptor[name])
    const flags = {
      isShadow: flag('shadow_mode'),
      isQuota: flag('quota_mode'),
      hasDetailedMetric: flag('detailed_metric'),
    }
    const { rate_limit: fields } = descriptor
    const path = [...descriptorPath, 'rate_limit']
    if (fields === undefined || fields === null) return undefined
    if (!isReadableFields(fields)) {
      document.addError(path, 'must have unit and requests_per_unit; write for example unit: minute')
      return undefined
    }
    reportUnknown(document, path, fields, RATE_LIMIT)
    const limit = limitAt([...path, 'requests_per_unit'], fields.requests_per_unit)
    const isUnlimited = booleanAt(document, [...path, 'unlimited'], fields.unlimited)
    const name = textAt(document, [...path, 'name'], fields.name)
    const replaces = replacesAt([...path, 'replaces'], fields.replaces, name)
    const window = windowAt(path, fields, isUnlimited)
    const algorithm = algorithmAt([...path, 'algorithm'], fields.algorithm)
    if (window === undefined || !document.isValid(path)) {
      if (!isUnlimited || !document.isValid(path)) return undefined
      const rule = { limit: 0, unit: UNKNOWN_UNIT, counter: undefined }
      return { path: rulePath, name, replaces, isUnlimited, ...flags, ...rule }
    }
    const counter = counterAt(path, { path: rulePath, limit, window: window.text, algorithm })
    return { path: rulePath, name, replaces, isUnlimited, ...flags, limit, unit: window.unit, counter }
  }

  function counterAt(path: Path, options: Parameters<typeof defineCounter>[0]) {
    try {
      return defineCounter(options, terms)
    } catch (error) {
      if (!(error instanceof TidegateError)) throw error
      const isWindowError = error.field === 'window'
      document.addError(
        [...path, isWindowError ? 'window' : 'requests_per_unit'],
        errorMessageWithoutField(error),
      )
      return undefined
    }
  }

  function limitAt(path: Path, value: unknown): number {
    if (value === undefined || value === null) return 0
    if (typeof value === 'number' && value >= 0 && value <= MAX_REQUESTS_PER_UNIT) return value
    document.addError(
      path,
      isUnreadable(value) && value.isQuoted
        ? `must be a whole number, got ${format(value)}; write it without quotes`
        : `must be a whole number from 0 to ${MAX_REQUESTS_PER_UNIT.toLocaleString('en')}, got ${format(value)}`,
    )
    return 0
  }

  function windowAt(path: Path, fields: Fields, isUnlimited: boolean) {
    const unit = textAt(document, [...path, 'unit'], fields.unit)
    const window = textAt(document, [...path, 'window'], fields.window)
    const unitName = unit.toLowerCase()
    const unitOfName = Object.hasOwn(UNITS, unitName) ? UNITS[unitName] : undefined
    if (isUnlimited) {
      for (const name of ['unit', 'window'])
        if (name === 'unit' ? unitOfName !== undefined : window !== '')
          document.addError([...path, name], 'must not be used together with unlimited; remove one of them')
      return undefined
    }
    if (!document.isValid([...path, 'unit']) || !document.isValid([...path, 'window'])) return undefined
    if (window !== '' && unit !== '') {
      document.addError([...path, 'window'], 'must not be used together with unit; remove one of them')
      return undefined
    }
    if (window !== '') return { text: window, unit: UNKNOWN_UNIT }
    if (unitOfName !== undefined) return { text: `${unitOfName.seconds}s`, unit: unitOfName.number }
    const problem = unit === '' ? 'is missing' : `unknown unit ${quote(unit)}`
    document.addError(
      [...path, 'unit'],
      `${problem}; write one of ${Object.keys(UNITS).join(', ')}, or a window such as window: 10m`,
    )
    return undefined
  }

  function algorithmAt(path: Path, value: unknown): string {
    const name = textAt(document, path, value)
    if (name === '') return 'fixed-window'
    if ((RULE_ALGORITHMS as readonly string[]).includes(name)) return name
    const isLeakyBucket = name === 'leaky-bucket'
    const problem = isLeakyBucket
      ? 'is not supported, because Envoy cannot delay requests'
      : 'is not an algorithm'
    const advice =
      (isLeakyBucket ? undefined : didYouMean(name, RULE_ALGORITHMS)) ?? choiceOf(RULE_ALGORITHMS)
    document.addError(path, `${quote(name)} ${problem}; ${advice}`)
    return 'fixed-window'
  }

  function replacesAt(path: Path, value: unknown, own: string): string[] {
    if (value === undefined || value === null) return []
    if (!Array.isArray(value)) {
      document.addError(path, 'must be a list; write for example - name: other')
      return []
    }
    return value.flatMap((entry, i) => {
      const at = [...path, i]
      if (!isReadableFields(entry)) {
        document.addError(
          at,
          `must be a rate limit by name, got ${format(entry)}; write for example - name: other`,
        )
        return []
      }
      reportUnknown(document, at, entry, ['name'])
      const name = textAt(document, [...at, 'name'], entry.name)
      if (name === '' && document.isValid([...at, 'name']))
        document.addError([...at, 'name'], 'must not be empty; write the name of the rate limit to replace')
      else if (name === own)
        document.addError([...at, 'name'], `must be the name of another rate limit, got ${quote(name)}`)
      return [name]
    })
  }

  function metadataAt(path: Path, value: unknown): Fields | undefined {
    if (value === undefined || value === null) return undefined
    if (isReadableFields(value)) return Object.keys(value).length === 0 ? undefined : value
    document.addError(path, 'must be keys and values; write for example name: value')
    return undefined
  }
}

function reportUnknown(
  document: ConfigDocument,
  path: Path,
  fields: Fields,
  fieldNames: readonly string[],
): void {
  for (const name of Object.keys(fields)) {
    if (fieldNames.includes(name)) continue
    const place = PLACES.find(([, names]) => names !== fieldNames && names.includes(name))?.[0]
    const message =
      place === undefined
        ? `unknown option; ${didYouMean(name, fieldNames) ?? choiceOf(fieldNames)}`
        : `belongs to ${place}; move it there`
    document.addError([...path, name], message, 'key')
  }
}

function textAt(document: ConfigDocument, path: Path, value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  document.addError(path, `must be text, got ${format(value)}; write it in quotes`)
  return ''
}

function booleanAt(document: ConfigDocument, path: Path, value: unknown): boolean {
  if (value === undefined || value === null) return false
  if (typeof value === 'boolean') return value
  const hint = isUnreadable(value) && value.isQuoted ? '; write it without quotes' : ''
  document.addError(path, `must be true or false, got ${format(value)}${hint}`)
  return false
}

/** Whether a value is keys and values, and not a scalar that does not fit its field. */
function isReadableFields(value: unknown): value is Fields {
  return isFields(value) && !isUnreadable(value)
}

function format(value: unknown): string {
  return isUnreadable(value) ? quote(value.source) : formatValue(value)
}
