import cluster from 'node:cluster'
import { existsSync } from 'node:fs'
import { type FileText, loadConfig, readText } from '../config/load.js'
import { formatConfigErrors } from '../config-file/config-error.js'
import type { RlsFlags } from '../rls/config/read-rls.js'
import { validateLimits } from '../rls/validate-limits.js'
import { startServer } from '../run/start-server.js'
import { startWorker } from '../run/worker.js'
import { EXIT, type Terminal } from './terminal.js'

export interface StartFlags {
  readonly config?: string
  readonly host?: string
  readonly port?: string
  readonly store?: string
  readonly workers: number
  readonly profiles?: string
  readonly rls?: string
  readonly rlsConfig?: readonly string[]
  readonly rlsTlsCert?: string
  readonly rlsTlsKey?: string
  readonly rlsTlsCa?: string
}

/** The file name in the documentation. */
const DEFAULT_FILE = 'tidegate.yaml'

/** Starts the service. Resolves once it listens, and the service keeps running. */
export async function start(flags: StartFlags, terminal: Terminal): Promise<number> {
  const { config: file, host, port, store, workers, profiles } = flags
  const rls = rlsFlags(flags)
  const load = (text: FileText) =>
    loadConfig({ text, env: terminal.env, flags: { host, port, store, rls }, profiles })
  // The primary has validated the file and sends its text, because the file may have changed meanwhile.
  if (cluster.isWorker) return exitCodeOf(startWorker({ load, file }), terminal)
  if (file === undefined && existsSync(DEFAULT_FILE)) {
    terminal.err(`${DEFAULT_FILE} in this folder is not used; to use it, add --config ${DEFAULT_FILE}.`)
  }
  const text = readText(file)
  const loaded = load(text)
  if ('errors' in loaded) {
    terminal.err(formatConfigErrors(loaded.errors, file ?? ''))
    terminal.err('The service was not started.')
    // An invalid option is a usage error, unlike an invalid file.
    const isUsageError = file === undefined || loaded.errors.every(({ path }) => path.startsWith('--'))
    return isUsageError ? EXIT.usage : EXIT.invalidConfig
  }
  const { config } = loaded
  const limitErrors =
    config.rls === undefined ? '' : validateLimits(config.rls.files, config.rls.settings).errors
  if (limitErrors !== '') {
    terminal.err(limitErrors)
    terminal.err('The service was not started.')
    return EXIT.invalidConfig
  }
  if (workers > 1 && config.store.kind === 'memory') {
    terminal.err(
      `--workers ${workers} needs a shared store: with the memory store, each worker would count on its own and ${workers} times the limit would be allowed. Add for example --store redis://localhost:6379.`,
    )
    return EXIT.usage
  }
  return exitCodeOf(startServer({ config, text, load, file, workers }), terminal)
}

function rlsFlags(flags: StartFlags): RlsFlags {
  const { rls, rlsConfig, rlsTlsCert, rlsTlsKey, rlsTlsCa } = flags
  return { listen: rls, files: rlsConfig, certFile: rlsTlsCert, keyFile: rlsTlsKey, clientCaFile: rlsTlsCa }
}

async function exitCodeOf(starting: Promise<unknown>, terminal: Terminal): Promise<number> {
  try {
    await starting
    return EXIT.ok
  } catch (error) {
    terminal.err(startErrorMessage(error as ListenError))
    return EXIT.invalidConfig
  }
}

/** An error of `listen`: the address and port, or the host name that does not resolve. */
interface ListenError extends NodeJS.ErrnoException {
  readonly address?: string
  readonly port?: number
  readonly hostname?: string
  /** Whether the gateway could not listen, and not the API. */
  readonly isOfGateway?: boolean
  /** Whether the rate limit service for Envoy could not start. */
  readonly isOfRls?: boolean
}

function startErrorMessage(error: ListenError): string {
  const { code, message, address, port, hostname, isOfGateway, isOfRls } = error
  const place = (option: string) => (isOfGateway ? 'in gateway.listen' : `with ${isOfRls ? '--rls' : option}`)
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${address} is already in use. Choose another port ${place('--port')}, or stop the program that uses it.`
    case 'EACCES':
      return `This user is not allowed to listen on port ${port}. Choose a port above 1023 ${place('--port')}.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${address ?? hostname} is not an address of this machine. Choose another address ${place('--host')}.`
    default:
      if (code?.startsWith('ERR_OSSL_')) {
        const section = isOfRls ? 'rls.tls' : 'gateway.listen.tls'
        return `certFile and keyFile of ${section} must be a certificate chain and its private key, as PEM: ${message}`
      }
      return `The ${isOfRls ? 'rate limit service for Envoy' : 'service'} could not start: ${message}`
  }
}
