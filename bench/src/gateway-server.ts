import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '@tidegate/fixtures/free-port'
import { BARE, FASTIFY, NGINX, OURS } from './gateway-scenarios.js'
import { LOAD_CORE, SERVER_CORE } from './one-core.js'
import { type ServerUnderLoad, startNode, startProgram } from './server-under-load.js'

/** What all proxies stand before. It shares its core with the load, which the proxy is not to feel. */
export function startUpstream(): Promise<ServerUnderLoad> {
  return startNode(LOAD_CORE, [fileOf('../dist/gateway-upstream-child.js')])
}

const PROGRAMS: Readonly<Record<string, string>> = {
  [BARE]: '../dist/gateway-bare-child.js',
  [FASTIFY]: '../dist/gateway-fastify-child.js',
}

export function startProxy(contender: string, upstreamUrl: string): Promise<ServerUnderLoad> {
  if (contender === NGINX) return startNginx(upstreamUrl)
  if (contender === OURS) return startOurs(upstreamUrl)
  const program = PROGRAMS[contender]
  if (program === undefined) throw new Error(`There is no contender "${contender}".`)
  return startNode(SERVER_CORE, [fileOf(program), upstreamUrl])
}

function startOurs(upstreamUrl: string): Promise<ServerUnderLoad> {
  const program = fileOf('../../apps/server/bin/tidegate.mjs')
  const args = [program, 'start', '--config', fileOf('../gateway.yaml'), '--port', '0']
  const says = { env: { UPSTREAM: upstreamUrl }, before: 'The gateway serves on ' }
  return startNode(SERVER_CORE, args, says)
}

async function startNginx(upstreamUrl: string): Promise<ServerUnderLoad> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-nginx-'))
  const port = await freePort()
  const config = join(folder, 'nginx.conf')
  const text = readFileSync(fileOf('../nginx.conf'), 'utf8')
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

function fileOf(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url))
}
