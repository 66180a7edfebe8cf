/** A small limited application of each framework. It prints the statuses of three requests and ends. */
interface App {
  /** What to install for a version of the framework. */
  packages(version: string): Record<string, string>
  program(form: 'import' | 'require'): string
}

export type Framework = 'express' | 'koa' | 'fastify' | 'hono' | 'nest'

const limiter = `createLimiter({ policy: fixedWindow({ limit: 2, window: '365d', name: 'api' }) })`

/** Sends three requests to `url`, prints the statuses and ends the process. */
const request = `
  async function request(url) {
    const statuses = []
    for (let i = 0; i < 3; i++) statuses.push((await fetch(url)).status)
    console.log(statuses.join())
    process.exit()
  }`

export const APPS: Record<Framework, App> = {
  express: {
    packages: (version) => ({ express: version }),
    program: (form) => `
      ${load(form, 'express', 'express')}
      ${load(form, '{ createLimiter, fixedWindow }', '@tidegate/core')}
      ${load(form, '{ rateLimit }', '@tidegate/http/express')}
      ${request}
      const app = express()
      app.use(rateLimit({ limiter: ${limiter} }))
      app.get('/', (_, response) => response.send('hello'))
      const server = app.listen(0, '127.0.0.1', () => request('http://127.0.0.1:' + server.address().port))`,
  },
  koa: {
    packages: (version) => ({ koa: version }),
    program: (form) => `
      ${load(form, 'Koa', 'koa')}
      ${load(form, '{ createLimiter, fixedWindow }', '@tidegate/core')}
      ${load(form, '{ rateLimit }', '@tidegate/http/koa')}
      ${request}
      const app = new Koa()
      app.use(rateLimit({ limiter: ${limiter} }))
      app.use(async (context) => { context.body = 'hello' })
      const server = app.listen(0, '127.0.0.1', () => request('http://127.0.0.1:' + server.address().port))`,
  },
  fastify: {
    packages: (version) => ({ fastify: version }),
    program: (form) => `
      ${load(form, '{ fastify }', 'fastify')}
      ${load(form, '{ createLimiter, fixedWindow }', '@tidegate/core')}
      ${load(form, '{ rateLimit }', '@tidegate/http/fastify')}
      ${request}
      const app = fastify()
      app.register(rateLimit, { limiter: ${limiter}, key: 'route:{route}', global: false })
      app.get('/', { config: { rateLimit: { cost: 1 } } }, async () => 'hello')
      app.listen({ port: 0, host: '127.0.0.1' }).then(request)`,
  },
  hono: {
    packages: (version) => ({ hono: version, '@hono/node-server': '1.8.0' }),
    program: (form) => `
      ${load(form, '{ Hono }', 'hono')}
      ${load(form, '{ serve }', '@hono/node-server')}
      ${load(form, '{ createLimiter, fixedWindow }', '@tidegate/core')}
      ${load(form, '{ rateLimit }', '@tidegate/http/hono')}
      ${request}
      const app = new Hono()
      app.use('*', rateLimit({ limiter: ${limiter}, key: 'route:{route}' }))
      app.get('/', (context) => context.text('hello'))
      serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => request('http://127.0.0.1:' + port))`,
  },
  nest: {
    packages: (version) => ({
      '@nestjs/common': version,
      '@nestjs/core': version,
      '@nestjs/platform-express': version,
      'reflect-metadata': version.startsWith('10.0') ? '0.1' : '0.2',
      rxjs: '7',
    }),
    program: (form) => `
      ${form === 'import' ? `import 'reflect-metadata'` : `require('reflect-metadata')`}
      ${load(form, '{ Controller, Get, Module }', '@nestjs/common')}
      ${load(form, '{ NestFactory }', '@nestjs/core')}
      ${load(form, '{ createLimiter, fixedWindow }', '@tidegate/core')}
      ${load(form, '{ RateLimitModule }', '@tidegate/http/nest')}
      ${request}
      class Hello { hello() { return 'hello' } }
      Get()(Hello.prototype, 'hello', Object.getOwnPropertyDescriptor(Hello.prototype, 'hello'))
      Controller()(Hello)
      class App {}
      Module({ imports: [RateLimitModule.forRoot({ limiter: ${limiter} })], controllers: [Hello] })(App)
      NestFactory.create(App, { logger: ['error'] }).then(async (app) => {
        await app.listen(0, '127.0.0.1')
        request('http://127.0.0.1:' + app.getHttpServer().address().port)
      })`,
  },
}

function load(form: 'import' | 'require', names: string, from: string): string {
  return form === 'import' ? `import ${names} from '${from}'` : `const ${names} = require('${from}')`
}
