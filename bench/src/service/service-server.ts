import { SERVER_CORE } from '../load/cpu-cores.js'
import { type ServerUnderLoad, startNode } from '../load/server-under-load.js'
import { benchFile, repoFile } from '../report/paths.js'

const TIDEGATE = repoFile('apps/server/bin/tidegate.mjs')
const BARE_ROUTE = benchFile('dist/service/bare-route-child.js')
const CONFIG = benchFile('service.yaml')

export function startTidegate(store: string): Promise<ServerUnderLoad> {
  return startNode(SERVER_CORE, [TIDEGATE, 'start', '--config', CONFIG, '--port', '0', '--store', store])
}

/** A Fastify route that always sends this response. */
export function startBare(response: FixedResponse): Promise<ServerUnderLoad> {
  return startNode(SERVER_CORE, [BARE_ROUTE, JSON.stringify(response)])
}

/** A response without the headers that Node adds. */
export interface FixedResponse {
  headers: Readonly<Record<string, string>>
  body: unknown
}
