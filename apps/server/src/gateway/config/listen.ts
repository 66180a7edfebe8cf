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
  const written = document.at(path)
  const given = !document.isValid(path) ? undefined : (written ?? springListen(document))
  const fields = typeof given === 'object' && given !== null ? (given as Partial<Listen>) : placeOf(given)
  if (fields === undefined) {
    document.addError(
      path,
      `${quote(String(given))} is not an address to listen on; write 8000, 0.0.0.0:8000 or [::]:8000`,
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
    const at =
      written === undefined ? ['server', 'port'] : typeof given === 'object' ? [...path, 'port'] : path
    document.addError(
      at,
      `the API of the service already listens on ${servicePort}; choose another port, or change the option port`,
    )
  }
  return listen
}

/** `server` of a Spring file. */
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

/** `8000`, `127.0.0.1:8000`, `[::1]:8000` or `localhost:8000`. */
function placeOf(given: unknown): Partial<Listen> | undefined {
  if (given === undefined) return {}
  const match = /^(?:(\[[\da-f:.]{2,45}\]|[\w.-]{1,253}):)?(\d{1,5})$/i.exec(String(given))
  if (match === null || Number(match[2]) > 65_535) return undefined
  const host = match[1]?.replace(/^\[|\]$/g, '')
  return { port: Number(match[2]), ...(host === undefined ? {} : { host }) }
}
