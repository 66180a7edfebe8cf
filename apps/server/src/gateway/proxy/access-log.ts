import type { IncomingMessage } from 'node:http'
import { isHttp2 } from './http2.js'

/** A finished request, for the access log. */
export interface FinishedRequest {
  readonly message: IncomingMessage
  readonly id: string
  /** Undefined if no route matched. */
  readonly route: string | undefined
  /** The client's address, through the trusted proxies. */
  readonly address: string | undefined
  /** 0 if the client disconnected before the response. */
  readonly status: number
  /** Size of the response body. */
  readonly bytes: number
  readonly timeMs: number
  readonly seconds: number
}

export type AccessLog = (request: FinishedRequest) => void

export type AccessLogForm = 'json' | 'combined'

/**
 * Writes one line per request. The query is left out, because it may contain secrets. Text from clients is escaped, so
 * that it cannot add lines.
 */
export function createAccessLog(form: AccessLogForm, write: (line: string) => void): AccessLog {
  const lineOf = form === 'json' ? jsonLine : combinedLine
  return (request) => write(`${lineOf(request)}\n`)
}

function jsonLine({ message, id, route, address, status, bytes, timeMs, seconds }: FinishedRequest): string {
  return JSON.stringify({
    time: new Date(timeMs).toISOString(),
    id,
    address,
    method: message.method,
    path: pathOf(message),
    protocol: protocolOf(message),
    route,
    status,
    bytes,
    seconds: Number(seconds.toFixed(6)),
    referer: message.headers.referer,
    userAgent: message.headers['user-agent'],
  }).replace(UNSAFE_IN_JSON, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** Characters that JSON allows, and that terminals or readers treat as control characters or line breaks. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\u2028\u2029]/g

/** Apache's combined log format. */
function combinedLine({ message, address, status, bytes, timeMs }: FinishedRequest): string {
  const request = `${message.method} ${pathOf(message)} ${protocolOf(message)}`
  const { referer = '-', 'user-agent': agent = '-' } = message.headers
  const size = bytes === 0 ? '-' : bytes
  return `${address ?? '-'} - - [${clfTime(timeMs)}] "${escapeQuoted(request)}" ${status} ${size} "${escapeQuoted(referer)}" "${escapeQuoted(agent)}"`
}

/** `10/Oct/2030:13:55:36 +0000` */
function clfTime(timeMs: number): string {
  const [, day, month, year, time] = new Date(timeMs).toUTCString().split(' ')
  return `${day}/${month}/${year}:${time} +0000`
}

function escapeQuoted(text: string): string {
  return text.replace(/[^ !#-[\]-~]/g, (character) => {
    const code = character.charCodeAt(0)
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : '?'
  })
}

function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}

function protocolOf(message: IncomingMessage): string {
  return `HTTP/${isHttp2(message) ? '2' : message.httpVersion}`
}
