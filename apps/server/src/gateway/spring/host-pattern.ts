import type { Variables } from '@tidegate/http'
import { quote } from '../../config-file/config-error.js'
import { compileRegExp } from '../../linear-regexp.js'
import { invalid } from './argument.js'

/** Spring's patterns of hosts: `api.example.org`, `*.example.org`, `**.example.org`, `{tenant}.example.org`. */
export interface HostPattern {
  readonly names: readonly string[]
  /** Undefined: any port, or none. */
  readonly port: string | undefined
  /** The value of each name; undefined if the host does not match. */
  match(host: string): Variables | undefined
}

export function parseHostPattern(text: string): HostPattern {
  const names: string[] = []
  const port = /:(\d{1,5})$/.exec(text)?.[1]
  const labels = text.slice(0, port === undefined ? undefined : -port.length - 1).split('.')
  const sources = labels.map((label, i) => {
    const dot = i === labels.length - 1 ? '' : '\\.'
    // Any number of labels, including none.
    if (label === '**') return i === labels.length - 1 ? '(?:[^.]+(?:\\.[^.]+)*)?' : '(?:[^.]+\\.)*'
    if (!/^(?:\{[A-Za-z_][\w-]*\}|[\w-]|\*|\?)+$/.test(label)) {
      throw invalid(`${quote(text)} is not a valid host pattern; write for example **.example.org`)
    }
    const source = label.replace(/\{([^}]*)\}|\*|\?|[\w-]+/g, (piece, name: string | undefined) => {
      // Names keep their case, because filters refer to them as written.
      if (name !== undefined) return `(?<v${names.push(name) - 1}>[^.]+)`
      if (piece === '?') return '[^.]'
      return piece === '*' ? (label === '*' ? '[^.]+' : '[^.]*') : piece.toLowerCase()
    })
    return source + dot
  })
  if (labels.filter((label) => label === '**').length > 1) {
    throw invalid(`${quote(text)} has ** more than once; write it once, as in **.example.org`)
  }
  const expression = compileRegExp(sources.join(''))
  if ('problem' in expression)
    throw invalid(`${quote(text)} is not a valid host pattern: ${expression.problem}`)
  return {
    names,
    port,
    match(host) {
      const groups = expression.match(host)
      return groups && Object.fromEntries(names.map((name, i) => [name, groups[`v${i}`] ?? '']))
    },
  }
}

/** The host of a request in lower case, without port and trailing dots. */
export function hostOf(header: string | undefined): string {
  // The lookbehind keeps the time linear for a header of many dots.
  return (header ?? '')
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/(?<!\.)\.+$/, '')
}

/** The port in a Host header; undefined if it has none. */
export function portOf(header: string | undefined): string | undefined {
  return /:(\d{1,5})$/.exec(header ?? '')?.[1]
}
