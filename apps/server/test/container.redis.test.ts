import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { freePort } from '@tidegate/fixtures/free-port'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { makeTree, readImage, type Tree } from './container.js'
import { type RunningProgram, root, startProgram } from './program.js'
import { ask, CHECK, RESET } from './start-service.js'

// Tests cannot build images. They run the same commands with the same files, as a user without permission to write them.

interface Compose {
  readonly services: Readonly<Record<'tidegate' | 'redis', ComposeService>>
}

interface ComposeService {
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly volumes: readonly string[]
  readonly ports: readonly string[]
  readonly read_only: boolean
}

const image = readImage()
const compose = parse(readFileSync(join(root, 'deploy/compose.yaml'), 'utf8')) as Compose
const { tidegate, redis } = compose.services
/** An unprivileged user; without root, the user who runs the tests. */
const uid = process.getuid?.() === 0 ? 65534 : undefined

let tree: Tree
beforeAll(() => {
  tree = makeTree(image)
})
afterAll(() => tree?.remove())

const inTree = (path: string) => path.replace(image.workdir, tree.folder)

async function environment(more: Record<string, string> = {}): Promise<Record<string, string>> {
  const path = image.env.PATH!.replace('$PATH', `${dirname(process.execPath)}:/usr/bin:/bin`)
  return {
    ...image.env,
    PATH: inTree(path),
    TIDEGATE_PORT: String(await freePort()),
    HOME: '/nonexistent',
    TMPDIR: '/nonexistent',
    ...more,
  }
}

function start(
  [command = '', ...args]: readonly string[],
  env: Record<string, string>,
): Promise<RunningProgram> {
  return startProgram({ command, args, env, cwd: tree.folder, uid })
}

function runHealthCheck(env: Record<string, string>): number | null {
  const [command = '', ...args] = image.healthCheck
  return spawnSync(command, args, { env, cwd: tree.folder, ...(uid === undefined ? {} : { uid, gid: uid }) })
    .status
}

describe('the image', () => {
  it('runs as a user who can write none of its files', () => {
    expect(image.user).toBe('node')
    for (const path of ['.', 'apps/server/dist/main.js', 'node_modules/fastify', 'packages/core/dist']) {
      const { status } = spawnSync('test', ['-w', join(tree.folder, path)], {
        ...(uid === undefined ? {} : { uid, gid: uid }),
      })
      expect(status, path).toBe(1)
    }
  })

  it('serves, passes its health check, and exits with 0 on SIGTERM', async () => {
    const env = await environment()
    expect(runHealthCheck(env)).toBe(1)
    const service = await start(image.command, env)
    expect(new URL(service.url).port).toBe(env.TIDEGATE_PORT)
    expect((await ask(service.url)).body).toContain('<meta name="tidegate-service"')
    const { status, body } = await ask(`${service.url}${CHECK}?key=user:123`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ allowed: true, remaining: 99 })
    expect(runHealthCheck(env)).toBe(0)
    expect(service.lines.join('\n')).toContain('every client that can reach 0.0.0.0 can check any key')
    expect(await service.stop()).toBe(0)
    expect(runHealthCheck(env)).toBe(1)
  })
})

describe('the compose file', () => {
  it('has only strings in its environment', () => {
    for (const { command } of [tidegate, redis]) {
      expect(command.every((word) => typeof word === 'string')).toBe(true)
    }
  })

  it('mounts read-only, and publishes to this machine only', () => {
    expect([tidegate.read_only, redis.read_only]).toStrictEqual([true, true])
    expect(tidegate.volumes.every((volume) => volume.endsWith(':ro'))).toBe(true)
    expect(tidegate.ports).toStrictEqual(['127.0.0.1:8080:8080'])
    expect(redis.ports).toBeUndefined()
  })

  it('runs the service on Redis, with the example file and an admin token', async () => {
    const port = await freePort()
    const folder = mkdtempSync(join(tmpdir(), 'tidegate-compose-'))
    const [server = '', ...args] = redis.command
    const store = spawn(server, [...args, '--port', String(port), '--dir', folder], { stdio: 'ignore' })
    const ended = new Promise((resolve) => store.once('exit', resolve))
    let service: RunningProgram | undefined
    try {
      const [from = '', to = ''] = tidegate.volumes[0]!.split(':')
      // A copy: the repository may be readable only by its owner.
      cpSync(join(root, 'deploy', from), folder, { recursive: true })
      chmodSync(folder, 0o755)
      const command = tidegate.command.map((word) => word.replace(to, folder))
      expect(tidegate.environment.TIDEGATE_STORE).toBe('redis://redis:6379')
      expect(tidegate.environment.TIDEGATE_ADMIN_TOKEN).toMatch(/^\$\{TIDEGATE_ADMIN_TOKEN:\?/)
      const env = await environment({
        TIDEGATE_STORE: `redis://127.0.0.1:${port}`,
        TIDEGATE_ADMIN_TOKEN: 'a-secret-admin-token',
      })
      service = await start(command, env)
      await expect.poll(async () => (await ask(`${service!.url}/healthz`)).body.status).toBe('UP')
      const { body } = await ask(`${service.url}${CHECK}?key=compose`)
      expect(body).toMatchObject({ policy: 'per-user', limit: 100 })
      const reset = `${service.url}${RESET}?key=compose`
      expect((await ask(reset, { method: 'DELETE' })).status).toBe(401)
      const headers = { authorization: 'Bearer a-secret-admin-token' }
      expect((await ask(reset, { method: 'DELETE', headers })).status).toBe(200)
      expect(await service.stop()).toBe(0)
    } finally {
      await service?.stop()
      store.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
