import type { ConfigDocument } from './document.js'
import { quoted } from './mistakes.js'
import { defaultOf } from './schema.js'

/** Where clients reach the gateway. */
export interface Listen {
  readonly host: string
  /** 0 takes any free one. */
  readonly port: number
  /** Undefined: plain HTTP. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
  readonly http2: boolean
}

export function readListen(document: ConfigDocument, servicePort: number): Listen {
  const path = ['gateway', 'listen']
  const given = document.isRight(path) ? document.at(path) : undefined
  const fields = typeof given === 'object' && given !== null ? (given as Partial<Listen>) : placeOf(given)
  if (fields === undefined) {
    document.wrong(
      path,
      `${quoted(String(given))} is no place to listen; write 8000, 0.0.0.0:8000 or [::]:8000`,
    )
  }
  const listen: Listen = Object.freeze({
    host: fields?.host ?? (defaultOf(...path, 'host') as string),
    port: fields?.port ?? (defaultOf(...path, 'port') as number),
    tls: fields?.tls,
    http2: fields?.http2 ?? false,
  })
  if (listen.http2 && listen.tls === undefined) {
    document.wrong(
      [...path, 'http2'],
      'needs tls: no browser speaks HTTP/2 without; write tls: { certFile, keyFile }',
    )
  }
  if (listen.port !== 0 && listen.port === servicePort) {
    const at = typeof given === 'object' ? [...path, 'port'] : path
    document.wrong(at, `the service itself listens on ${servicePort}; choose another, or change port`)
  }
  return listen
}

/** `8000`, `127.0.0.1:8000`, `[::1]:8000` or `localhost:8000`. */
function placeOf(given: unknown): Partial<Listen> | undefined {
  if (given === undefined) return {}
  const match = /^(?:(\[[\da-f:.]{2,45}\]|[\w.-]{1,253}):)?(\d{1,5})$/i.exec(String(given))
  if (match === null || Number(match[2]) > 65_535) return undefined
  const host = match[1]?.replace(/^\[|\]$/g, '')
  return { port: Number(match[2]), ...(host === undefined ? {} : { host }) }
}
