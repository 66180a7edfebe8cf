import cluster from 'node:cluster'
import { type FileText, loadConfig, readText } from '../config/load.js'
import { describeMistakes } from '../config/mistakes.js'
import { startWorker } from '../run/worker.js'
import { startServer } from '../server.js'
import { EXIT, type Terminal } from './terminal.js'

export interface StartFlags {
  readonly config?: string
  readonly host?: string
  readonly port?: string
  readonly store?: string
  readonly workers: number
}

/** Answers once it serves; it goes on serving. */
export async function start(given: StartFlags, terminal: Terminal): Promise<number> {
  const { config: file, host, port, store, workers } = given
  const load = (text: FileText) => loadConfig({ text, env: terminal.env, flags: { host, port, store } })
  // The primary has found the file right, and tells what was in it: by now it may be another.
  if (cluster.isWorker) return codeOf(startWorker({ load, file }), terminal)
  const text = readText(file)
  const loaded = load(text)
  if ('mistakes' in loaded) {
    terminal.err(describeMistakes(loaded.mistakes, file ?? ''))
    terminal.err('Nothing was started.')
    // A wrong option is wrong usage; a wrong file is a mistake.
    return loaded.mistakes.every(({ path }) => path.startsWith('--')) ? EXIT.usage : EXIT.mistakes
  }
  const { config } = loaded
  if (workers > 1 && config.store.kind === 'memory') {
    terminal.err(
      `--workers ${workers} needs a store that they share: each would count in its own memory and let ${workers} times the limit through. Give --store redis://…`,
    )
    return EXIT.usage
  }
  return codeOf(startServer({ config, text, load, file, workers }), terminal)
}

async function codeOf(starting: Promise<unknown>, terminal: Terminal): Promise<number> {
  try {
    await starting
    return EXIT.ok
  } catch (error) {
    terminal.err(whyNot(error as ListenError))
    return EXIT.mistakes
  }
}

/** With where it should have listened, or the name that has no address. */
interface ListenError extends NodeJS.ErrnoException {
  readonly address?: string
  readonly port?: number
  readonly hostname?: string
  /** Whether it is the gateway that could not listen, and not the API. */
  readonly isOfGateway?: boolean
}

function whyNot({ code, message, address, port, hostname, isOfGateway }: ListenError): string {
  const where = (option: string) => (isOfGateway ? 'in gateway.listen' : `with ${option}`)
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${address} is taken. Choose another ${where('--port')}, or stop what listens there.`
    case 'EACCES':
      return `This user may not listen on port ${port}. Choose one above 1023 ${where('--port')}.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${address ?? hostname} is no address of this machine. Choose another ${where('--host')}.`
    default:
      return `The service could not start: ${message}`
  }
}
