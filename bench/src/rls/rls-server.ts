import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@tidegate/fixtures/free-port'
import { SERVER_CORE } from '../load/cpu-cores.js'
import { type ServerUnderLoad, startNode, startProgram } from '../load/server-under-load.js'
import { repoFile } from '../report/paths.js'
import { LIMITS } from './rls-set-up.js'

const TIDEGATE = repoFile('apps/server/bin/tidegate.mjs')

/** A server, and where it serves gRPC. */
export interface RlsServer extends ServerUnderLoad {
  address: string
}

export async function startTidegate(store: string): Promise<RlsServer> {
  const folder = limitsFolder()
  const port = await freePort()
  const args = [
    'start',
    '--port',
    '0',
    '--store',
    store,
    '--rls',
    String(port),
    '--rls-config',
    folder.config,
  ]
  const server = await startNode(SERVER_CORE, [TIDEGATE, ...args])
  return withFolder(server, folder, port)
}

/** The reference reads its options from the environment, and its limits from a folder with a fixed structure. */
export async function startReference(program: string, redisUrl: string): Promise<RlsServer> {
  const folder = limitsFolder()
  const [http, port, debug] = [await freePort(), await freePort(), await freePort()]
  const env = {
    HOST: '127.0.0.1',
    PORT: http,
    GRPC_HOST: '127.0.0.1',
    GRPC_PORT: port,
    DEBUG_HOST: '127.0.0.1',
    DEBUG_PORT: debug,
    // Without any statistics: otherwise it would log or send them during the measurement.
    USE_STATSD: 'false',
    DISABLE_STATS: 'true',
    LOG_LEVEL: 'error',
    REDIS_SOCKET_TYPE: 'tcp',
    REDIS_URL: new URL(redisUrl).host,
    RUNTIME_ROOT: folder.root,
    RUNTIME_SUBDIRECTORY: 'limits',
    RUNTIME_WATCH_ROOT: 'false',
  }
  const args = [...Object.entries(env).map(([name, value]) => `${name}=${value}`), program]
  const url = `http://127.0.0.1:${http}/healthcheck`
  return withFolder(await startProgram(SERVER_CORE, { command: 'env', args, url }), folder, port)
}

interface Folder {
  root: string
  config: string
}

function limitsFolder(): Folder {
  const root = mkdtempSync(join(tmpdir(), 'tidegate-rls-'))
  const config = join(root, 'limits', 'config')
  mkdirSync(config, { recursive: true })
  writeFileSync(join(config, 'limits.yaml'), LIMITS)
  return { root, config }
}

function withFolder(server: ServerUnderLoad, { root }: Folder, port: number): RlsServer {
  return {
    ...server,
    address: `127.0.0.1:${port}`,
    async stop() {
      await server.stop()
      rmSync(root, { recursive: true, force: true })
    },
  }
}
