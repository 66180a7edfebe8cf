// Koa with a limit for each user, or for each address where nobody is logged in:
//   node examples/middleware/koa.mjs
//   curl -i -H 'x-user-id: alice' http://127.0.0.1:3000/search
import { createLimiter, fixedWindow } from '@tidegate/core'
import { rateLimit } from '@tidegate/http/koa'
import Koa from 'koa'

const limiter = createLimiter({ policy: fixedWindow({ limit: 3, window: '1d', name: 'search' }) })
const app = new Koa()

app.use(
  rateLimit({
    limiter,
    key: 'user:{header.x-user-id | ip}',
    skip: (context) => context.path === '/health',
  }),
)
app.use((context) => {
  context.body = context.path === '/health' ? 'well\n' : 'hello\n'
})

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)
})
