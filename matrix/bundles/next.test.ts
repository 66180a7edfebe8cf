import { startRedis } from '@tidegate/fixtures/redis-server'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { createProject, type Project } from '../src/project.js'
import { run } from '../src/run.js'
import { eightStatuses, startServer, TWO_OF_EIGHT } from '../src/server-process.js'

const ROUTE = `
import { createLimiter, fixedWindow } from '@tidegate/core'
import { RedisStore } from '@tidegate/redis'

const policy = fixedWindow({ limit: 2, window: '365d', name: 'next' })
const limiter = createLimiter({ policy, store: new RedisStore(process.env.REDIS_URL ?? '') })

export const dynamic = 'force-dynamic'

export async function GET(request: Request): Promise<Response> {
  const { allowed } = await limiter.check(request.headers.get('x-user') ?? 'anonymous')
  return new Response(allowed ? 'hello' : 'too many requests', { status: allowed ? 200 : 429 })
}
`

const LAYOUT = `
export default function Layout({ children }: { children: unknown }) {
  return <html lang="en"><body>{children as string}</body></html>
}
`

const CONFIGURATIONS = {
  'bundled by Next.js': {},
  // The store then loads core from node_modules, beside the copy of core in the bundle.
  'with @tidegate/redis outside of the bundle': { serverExternalPackages: ['@tidegate/redis'] },
}

let project: Project

beforeAll(async () => {
  const packages = { next: '16', react: '19', 'react-dom': '19', typescript: '5.9', '@types/react': '19' }
  project = await createProject({ ...packages, '@types/node': '20' }, ['@tidegate/core', '@tidegate/redis'])
  project.write({ 'app/layout.tsx': LAYOUT, 'app/limited/route.ts': ROUTE })
})

it.each(Object.entries(CONFIGURATIONS))(
  'a route handler on RedisStore, %s, allows two of eight requests',
  async (_, config) => {
    const redis = await startRedis()
    onTestFinished(() => redis.stop())
    const options = JSON.stringify({ ...config, typescript: { ignoreBuildErrors: true } })
    project.write({ 'next.config.mjs': `export default ${options}` })
    const next = project.path('node_modules/next/dist/bin/next')
    // The build evaluates the route, so it needs the address too.
    const env = { REDIS_URL: redis.url, NEXT_TELEMETRY_DISABLED: '1' }
    await run(process.execPath, [next, 'build'], project.folder, env)
    const args = [next, 'start', '--port', '0', '--hostname', '127.0.0.1']
    const url = await startServer(args, project.folder, env, /http:\/\/127\.0\.0\.1:(\d+)/)
    expect(await eightStatuses(`${url}/limited`)).toStrictEqual(TWO_OF_EIGHT)
  },
)
