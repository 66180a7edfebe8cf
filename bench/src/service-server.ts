import { fileURLToPath } from 'node:url'
import { SERVER_CORE } from './one-core.js'
import { type ServerUnderLoad, startNode } from './server-under-load.js'

const TIDEGATE = fileURLToPath(new URL('../../apps/server/bin/tidegate.mjs', import.meta.url))
// The same from `src`, where tests run.
const BARE = fileURLToPath(new URL('../dist/service-bare-child.js', import.meta.url))
const CONFIG = fileURLToPath(new URL('../service.yaml', import.meta.url))

export function startTidegate(store: string): Promise<ServerUnderLoad> {
  return startNode(SERVER_CORE, [TIDEGATE, 'start', '--config', CONFIG, '--port', '0', '--store', store])
}

/** One route that answers with just this. */
export function startBare(answer: Answer): Promise<ServerUnderLoad> {
  return startNode(SERVER_CORE, [BARE, JSON.stringify(answer)])
}

/** What a server answers, without what every server of Node adds by itself. */
export interface Answer {
  headers: Readonly<Record<string, string>>
  body: unknown
}
