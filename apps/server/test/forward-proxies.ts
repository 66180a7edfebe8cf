import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@tidegate/fixtures/free-port'
import { until } from '@tidegate/fixtures/until'
import { startEnvoyReplay, startTraefikReplay } from './forward-replays.js'
import { root } from './program.js'

// The configurations in examples/forward-auth, run by the proxies of Debian. Ports are replaced, and timeouts are longer: a
// busy machine is not an outage.

/** The token in the examples. */
export const PROXY_TOKEN = 'change-me-to-a-long-secret'

export interface Ports {
  readonly service: number
  readonly upstream: number
}

export interface ForwardProxy {
  readonly port: number
  stop(): Promise<void>
}

/** Starts a proxy with its example, as it is or with the change that the example describes for failing open. */
export type StartProxy = (ports: Ports, failOpen?: boolean) => Promise<ForwardProxy>

export function example(name: string): string {
  return readFileSync(join(root, 'examples/forward-auth', name), 'utf8')
}

export const startNginx: StartProxy = (ports, failOpen = false) =>
  startProgram('nginx', (port, folder) => {
    const open = (text: string) => replaceOnce(text, '# error_page 502', 'error_page 502')
    const text = adapted(example('nginx.conf'), port, ports)
    writeFileSync(join(folder, 'shop.conf'), failOpen ? open(text) : text)
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    const main = `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log stderr emerg;
events { worker_connections 4096; }
http {
  access_log off;
  ${paths.map((path) => `${path}_temp_path ${folder}/${path};`).join('\n  ')}
  include ${folder}/shop.conf;
}
`
    writeFileSync(join(folder, 'nginx.conf'), main)
    return ['-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')]
  })

export const startCaddy: StartProxy = (ports, failOpen = false) => {
  const open = (text: string) => text.replace(/^\t# ((?:handle_errors|\t|\}).*)$/gm, '\t$1')
  const text = example('Caddyfile')
  return startCaddyWith(failOpen ? open(text) : text, ports)
}

export function startCaddyWith(text: string, ports: Ports): Promise<ForwardProxy> {
  return startProgram('caddy', (port, folder) => {
    writeFileSync(join(folder, 'Caddyfile'), `{\n\tadmin off\n}\n${adapted(text, port, ports)}`)
    return ['run', '--config', join(folder, 'Caddyfile')]
  })
}

export const startHaproxy: StartProxy = (ports, failOpen = false) =>
  startProgram('haproxy', (port, folder) => {
    const open = (text: string) => text.replace(/^ {2}http-request return status 503.*$/m, '')
    const text = adapted(example('haproxy.cfg'), port, ports)
    writeFileSync(join(folder, 'haproxy.cfg'), failOpen ? open(text) : text)
    writeFileSync(join(folder, 'tidegate.lua'), adapted(example('tidegate.lua'), port, ports))
    return ['-db', '-f', join(folder, 'haproxy.cfg')]
  })

export const startTraefik: StartProxy = (ports) =>
  startTraefikReplay(
    adapted(example('traefik.yaml').replace('{{ env "PROXY_TOKEN" }}', PROXY_TOKEN), 0, ports),
  )

export const startEnvoy: StartProxy = (ports, failOpen = false) => {
  const open = (text: string) => replaceOnce(text, 'failure_mode_allow: false', 'failure_mode_allow: true')
  const text = adapted(example('envoy.yaml'), 0, ports)
  return startEnvoyReplay(failOpen ? open(text) : text)
}

function adapted(text: string, port: number, { service, upstream }: Ports): string {
  const actual: Record<string, number> = { 8000: port, 8080: service, 8081: upstream }
  return text
    .replace(/(?<=127\.0\.0\.1:|http:\/\/:|port_value: )80(?:00|80|81)\b/g, (written) =>
      String(actual[written]),
    )
    .replace(/((?:proxy_(?:connect|read)|dial|response_header)_timeout|timeout connect) \ds/g, '$1 30s')
    .replace('TIMEOUT_MS = 1000', 'TIMEOUT_MS = 30000')
}

function replaceOnce(text: string, from: string, to: string): string {
  if (text.split(from).length !== 2) throw new Error(`the example does not have ${from} once`)
  return text.replace(from, to)
}

async function startProgram(
  command: string,
  configure: (port: number, folder: string) => readonly string[],
): Promise<ForwardProxy> {
  const folder = mkdtempSync(join(tmpdir(), `tidegate-${command}-`))
  const port = await freePort()
  const { PATH = '' } = process.env
  const child = spawn(command, configure(port, folder), {
    cwd: folder,
    // Debian installs nginx and haproxy in /usr/sbin, which is not on every user's PATH.
    env: { PATH: `${PATH}:/usr/sbin`, HOME: folder, PROXY_TOKEN },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  const ended = once(child, 'exit').finally(() => running.delete(child))
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data))
  const stop = async () => {
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  await until(`${command} on port ${port}`, () => {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}: ${said}`)
    return isListening(port)
  }).catch(async (error) => {
    await stop()
    throw error
  })
  return { port, stop }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.once('error', () => resolve(false)).once('connect', () => socket.destroy())
  })
}

/** If this process ends, its proxies end with it. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
