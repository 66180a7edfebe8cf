import { quote } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'
import { parseListenAddress } from '../../config-file/listen-address.js'

/** The address that the gateway listens on. */
export interface Listen {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Undefined: plain HTTP. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
  readonly http2: boolean
}

type ListenFields = { readonly [Name in keyof Listen]?: Listen[Name] | undefined }

export function readListen(document: ConfigDocument, servicePort: number): Listen {
  const path = ['gateway', 'listen']
  const own = document.at(path)
  const value = !document.isValid(path) ? undefined : (own ?? springListen(document))
  const fields = fieldsOf(value)
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
function springListen(document: ConfigDocument): ListenFields {
  const at = (...path: string[]) => {
    const value = document.at(['server', ...path])
    return value === undefined || !document.isValid(['server', ...path]) ? undefined : value
  }
  const [port, host] = [at('port'), at('address')]
  const [certFile, keyFile] = [at('ssl', 'certificate'), at('ssl', 'certificate-private-key')].map((file) =>
    typeof file === 'string' ? file.replace(/^file:(\/\/)?/, '') : undefined,
  )
  const isEnabled = at('ssl', 'enabled') !== false
  if (isEnabled) reportMissingTls(document, certFile, keyFile)
  const tls = isEnabled && certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined
  return { port: port as number | undefined, host: host as string | undefined, tls }
}

/** Without both files, the gateway would serve plain HTTP on a port that is meant for TLS. */
function reportMissingTls(document: ConfigDocument, certFile: unknown, keyFile: unknown): void {
  const ssl = ['server', 'ssl']
  if (certFile === undefined && keyFile === undefined) {
    if (document.at([...ssl, 'enabled']) !== true) return
    const message =
      'has no effect without certificate and certificate-private-key: the gateway serves plain HTTP; add both'
    document.addWarning([...ssl, 'enabled'], message)
  } else if (keyFile === undefined) {
    const name = 'certificate-private-key'
    document.addError([...ssl, name], `is missing; write for example ${name}: /etc/tidegate/tls.key`)
  } else if (certFile === undefined)
    document.addError(
      [...ssl, 'certificate'],
      'is missing; write for example certificate: /etc/tidegate/tls.crt',
    )
}

/** The fields of an object, or of an address such as `127.0.0.1:8000`. */
function fieldsOf(value: unknown): ListenFields | undefined {
  if (value === undefined) return {}
  return typeof value === 'object' ? (value as ListenFields) : parseListenAddress(String(value))
}
