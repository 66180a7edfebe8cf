import { loadConfig } from '../config/load.js'
import { describeMistakes } from '../config/mistakes.js'
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
  const load = () => loadConfig({ file, env: terminal.env, flags: { host, port, store } })
  const loaded = load()
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
  try {
    await startServer({ config, load, file, workers })
    return EXIT.ok
  } catch (error) {
    terminal.err(whyNot(error as NodeJS.ErrnoException, config))
    return EXIT.mistakes
  }
}

function whyNot(
  { code, message }: NodeJS.ErrnoException,
  { host, port }: { host: string; port: number },
): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is taken. Choose another with --port, or stop what listens there.`
    case 'EACCES':
      return `This user may not listen on port ${port}. Choose one above 1023 with --port.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is no address of this machine. Choose another with --host.`
    default:
      return `The service could not start: ${message}`
  }
}
