import { quote } from '../../config-file/config-error.js'
import { readConnections } from '../../config-file/connection-limits.js'
import type { ConfigDocument } from '../../config-file/document.js'
import { parseListenAddress } from '../../config-file/listen-address.js'
import { optionOf } from '../../config-file/options.js'
import type { HeaderNames, RlsConfig, RlsSettings, RlsTls } from './rls-config.js'

/** The options of the command line for the rate limit service. */
export interface RlsFlags {
  readonly listen?: string | undefined
  readonly files?: readonly string[] | undefined
  readonly certFile?: string | undefined
  readonly keyFile?: string | undefined
  readonly clientCaFile?: string | undefined
}

/** Reads the section `rls`. Undefined if neither the file nor the command line has an address to listen on. */
export function readRls(
  document: ConfigDocument,
  flags: RlsFlags,
  service: { readonly host: string; readonly port: number },
): RlsConfig | undefined {
  const inFile = optionOf(document).section('rls')
  const listen = flags.listen ?? inFile.listen
  const files = flags.files ?? (inFile.config as string[] | undefined) ?? []
  if (listen === undefined) {
    if (files.length > 0)
      document.addError(
        ['rls', 'listen'],
        'is missing; write for example listen: 8081, or start with --rls 8081',
        flags.files === undefined ? 'value' : 'none',
      )
    return undefined
  }
  const path = ['rls', 'listen']
  // An option of the command line has no position in the file.
  const at = flags.listen === undefined ? 'value' : 'none'
  const address = parseListenAddress(String(listen))
  if (address === undefined)
    document.addError(
      path,
      `${quote(String(listen))} is not an address to listen on; write for example 8081 or 0.0.0.0:8081`,
      at,
    )
  const port = address?.port ?? 0
  if (port !== 0 && port === service.port)
    document.addError(path, `port ${port} is already used by the API of the service; choose another port`, at)
  if (files.length === 0)
    document.addError(
      ['rls', 'config'],
      'is missing; write for example config: [/etc/ratelimit/config], or start with --rls-config /etc/ratelimit/config',
      at,
    )
  return Object.freeze({
    host: address?.host ?? service.host,
    port,
    files: Object.freeze([...files]),
    tls: readTls(document, flags),
    connections: readConnections(document, ['rls']),
    settings: readSettings(document),
  })
}

function readTls(document: ConfigDocument, flags: RlsFlags): RlsTls | undefined {
  const option = optionOf(document)
  const certFile = flags.certFile ?? option.textIfAny('rls', 'tls', 'certFile')
  const keyFile = flags.keyFile ?? option.textIfAny('rls', 'tls', 'keyFile')
  const clientCaFile = flags.clientCaFile ?? option.textIfAny('rls', 'tls', 'clientCaFile')
  if (certFile !== undefined && keyFile !== undefined)
    return Object.freeze({ certFile, keyFile, clientCaFile })
  if (certFile !== undefined || keyFile !== undefined || clientCaFile !== undefined)
    document.addError(['rls', 'tls'], 'needs both certFile and keyFile, or --rls-tls-cert and --rls-tls-key')
  return undefined
}

function readSettings(document: ConfigDocument): RlsSettings {
  const option = optionOf(document)
  const flag = (name: string) => (option.text('rls', name) as unknown) === true
  return Object.freeze({
    responseHeaders: readHeaders(document),
    dynamicMetadata: flag('dynamicMetadata'),
    shadowMode: flag('shadowMode'),
    quotaMode: flag('quotaMode'),
    mergeDomains: flag('mergeDomains'),
    nearLimitRatio: readRatio(document),
    onStoreFailure: option.text('rls', 'onStoreFailure') as RlsSettings['onStoreFailure'],
    instances: option.wholeNumber('rls', 'instances'),
  })
}

function readRatio(document: ConfigDocument): number {
  const path = ['rls', 'nearLimitRatio']
  const ratio = optionOf(document).text(...path) as unknown
  if (typeof ratio === 'number') return ratio
  document.addError(path, `must be a number from 0 to 1, got ${quote(String(ratio))}; write for example 0.8`)
  return 1
}

function readHeaders(document: ConfigDocument): HeaderNames | undefined {
  const option = optionOf(document)
  const value = option.text('rls', 'responseHeaders') as unknown
  if (value === false) return undefined
  const name = (field: keyof HeaderNames) => {
    const path = ['rls', 'responseHeaders', field]
    const header =
      typeof value === 'object' ? option.text(...path) : (document.schemaAt(path)?.default as string)
    if (!/^[!#$%&'*+.^`|~\w-]+$/.test(header))
      document.addError(
        path,
        `${quote(header)} is not a valid header name; write for example RateLimit-Limit`,
      )
    return header
  }
  return Object.freeze({ limit: name('limit'), remaining: name('remaining'), reset: name('reset') })
}
