import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@tidegate/fixtures/free-port'
import { LOAD_CORE, SERVER_CORE } from '../load/cpu-cores.js'
import { type ServerUnderLoad, startNode, startProgram } from '../load/server-under-load.js'
import { benchFile, repoFile } from '../report/paths.js'
import { BARE_PROXY, FASTIFY_PROXY, GATEWAY, NGINX } from './gateway-scenarios.js'

/** The upstream of all proxies. It shares a core with the load generator, so that the proxy has its own. */
export function startUpstream(): Promise<ServerUnderLoad> {
  return startNode(LOAD_CORE, [benchFile('dist/gateway/upstream-child.js')])
}

const PROGRAMS: Readonly<Record<string, string>> = {
  [BARE_PROXY]: 'dist/gateway/bare-proxy-child.js',
  [FASTIFY_PROXY]: 'dist/gateway/fastify-proxy-child.js',
}

export function startProxy(contender: string, upstreamUrl: string): Promise<ServerUnderLoad> {
  if (contender === NGINX) return startNginx(upstreamUrl)
  if (contender === GATEWAY) return startGateway(upstreamUrl)
  const program = PROGRAMS[contender]
  if (program === undefined) throw new Error(`Unknown contender "${contender}".`)
  return startNode(SERVER_CORE, [benchFile(program), upstreamUrl])
}

function startGateway(upstreamUrl: string): Promise<ServerUnderLoad> {
  const program = repoFile('apps/server/bin/tidegate.mjs')
  const args = [program, 'start', '--config', benchFile('gateway.yaml'), '--port', '0']
  const options = { env: { UPSTREAM: upstreamUrl }, before: 'Gateway listening on ' }
  return startNode(SERVER_CORE, args, options)
}

async function startNginx(upstreamUrl: string): Promise<ServerUnderLoad> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-nginx-'))
  const port = await freePort()
  const config = join(folder, 'nginx.conf')
  const text = readFileSync(benchFile('nginx.conf'), 'utf8')
  writeFileSync(
    config,
    text
      .replaceAll('FOLDER', folder)
      .replace('127.0.0.1:PORT', `127.0.0.1:${port}`)
      .replace('server UPSTREAM', `server ${new URL(upstreamUrl).host}`),
  )
  const server = await startProgram(SERVER_CORE, {
    command: 'nginx',
    args: ['-p', folder, '-c', config],
    url: `http://127.0.0.1:${port}`,
  })
  return {
    ...server,
    async stop() {
      await server.stop()
      rmSync(folder, { recursive: true })
    },
  }
}
