import { quote } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'

/** The address that the gateway listens on. */
export interface Listen {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Undefined: plain HTTP. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
  readonly http2: boolean
}

export function readListen(document: ConfigDocument, servicePort: number): Listen {
  const path = ['gateway', 'listen']
  const own = document.at(path)
  const value = !document.isValid(path) ? undefined : (own ?? springListen(document))
  const fields = typeof value === 'object' && value !== null ? (value as Partial<Listen>) : addressOf(value)
  if (fields === undefined) {
    document.addError(
      path,
      `${quote(String(value))} is not an address to listen on; write for example 8000, 0.0.0.0:8000 or [::]:8000`,
    )
  }
  const listen: Listen = Object.freeze({
    host: fields?.host ?? (document.schemaAt([...path, 'host'])?.default as string),
    port: fields?.port ?? (document.schemaAt([...path, 'port'])?.default as number),
    tls: fields?.tls,
    http2: fields?.http2 ?? false,
  })
  if (listen.http2 && listen.tls === undefined) {
    document.addError(
      [...path, 'http2'],
      'needs tls, because browsers use HTTP/2 only with TLS; add tls: { certFile, keyFile }',
    )
  }
  if (listen.port !== 0 && listen.port === servicePort) {
    const at = own === undefined ? ['server', 'port'] : typeof value === 'object' ? [...path, 'port'] : path
    document.addError(
      at,
      `port ${servicePort} is already used by the API of the service; choose another port, or change the option port`,
    )
  }
  return listen
}

/** Reads `server` of a Spring file. */
function springListen(document: ConfigDocument): Partial<Listen> | undefined {
  const at = (...path: string[]) => {
    const value = document.at(['server', ...path])
    return value === undefined || !document.isValid(['server', ...path]) ? undefined : value
  }
  const [port, host] = [at('port'), at('address')]
  const [certFile, keyFile] = [at('ssl', 'certificate'), at('ssl', 'certificate-private-key')].map((file) =>
    typeof file === 'string' ? file.replace(/^file:(\/\/)?/, '') : undefined,
  )
  const isEnabled = at('ssl', 'enabled') !== false
  const tls = isEnabled && certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined
  return {
    ...(port === undefined ? {} : { port: port as number }),
    ...(host === undefined ? {} : { host: host as string }),
    ...(tls === undefined ? {} : { tls }),
  }
}

/** Parses `8000`, `127.0.0.1:8000`, `[::1]:8000` or `localhost:8000`. */
function addressOf(value: unknown): Partial<Listen> | undefined {
  if (value === undefined) return {}
  const match = /^(?:(\[[\da-f:.]{2,45}\]|[\w.-]{1,253}):)?(\d{1,5})$/i.exec(String(value))
  if (match === null || Number(match[2]) > 65_535) return undefined
  const host = match[1]?.replace(/^\[|\]$/g, '')
  return { port: Number(match[2]), ...(host === undefined ? {} : { host }) }
}
