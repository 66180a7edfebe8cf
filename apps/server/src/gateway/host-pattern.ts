import type { Variables } from '@tidegate/http'
import { quoted } from '../config/mistakes.js'
import { compileRegExp } from '../linear-regexp.js'
import { unfit } from './argument.js'

/** Spring's patterns of hosts: `api.example.org`, `*.example.org`, `**.example.org`, `{tenant}.example.org`. */
export interface HostPattern {
  readonly names: readonly string[]
  /** What stands for each name; undefined if it does not match. */
  match(host: string): Variables | undefined
}

export function parseHostPattern(text: string): HostPattern {
  const names: string[] = []
  if (/:\d+$/.test(text)) throw unfit(`${quoted(text)} has a port, which is not looked at; leave it out`)
  const labels = text.split('.')
  const sources = labels.map((label, i) => {
    const dot = i === labels.length - 1 ? '' : '\\.'
    // Any number of labels, also none.
    if (label === '**') return i === labels.length - 1 ? '(?:[^.]+(?:\\.[^.]+)*)?' : '(?:[^.]+\\.)*'
    if (!/^(?:\{[A-Za-z_][\w-]*\}|[\w-]|\*|\?)+$/.test(label)) {
      throw unfit(`${quoted(text)} is no pattern of hosts; write for example **.example.org`)
    }
    const source = label.replace(/\{([^}]*)\}|\*|\?|[\w-]+/g, (piece, name: string | undefined) => {
      // As it is written: filters name it so.
      if (name !== undefined) return `(?<v${names.push(name) - 1}>[^.]+)`
      if (piece === '?') return '[^.]'
      return piece === '*' ? (label === '*' ? '[^.]+' : '[^.]*') : piece.toLowerCase()
    })
    return source + dot
  })
  if (labels.filter((label) => label === '**').length > 1) {
    throw unfit(`${quoted(text)} has ** more than once; once is enough`)
  }
  const expression = compileRegExp(sources.join(''))
  if ('problem' in expression)
    throw unfit(`${quoted(text)} is not a valid host pattern: ${expression.problem}`)
  return {
    names,
    match(host) {
      const groups = expression.match(host)
      return groups && Object.fromEntries(names.map((name, i) => [name, groups[`v${i}`] ?? '']))
    },
  }
}

/** The host that a request names: in lower case, without a port and without dots at its end. */
export function hostOf(header: string | undefined): string {
  // From the first dot of several only: otherwise a header of nothing else would take long.
  return (header ?? '')
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/(?<!\.)\.+$/, '')
}
