// Koa with a limit for each user, or for each address of users who are not logged in:
//   node examples/middleware/koa.mjs
//   curl -i -H 'x-user-id: alice' http://127.0.0.1:3000/search
import { rateLimit } from '@tidegate/http/koa'
import Koa from 'koa'

const app = new Koa()

app.use(
  rateLimit({
    limit: 3,
    window: '1d',
    key: 'user:{header.x-user-id | ip}',
    skip: (context) => context.path === '/health',
  }),
)
app.use((context) => {
  context.body = context.path === '/health' ? 'ok\n' : 'hello\n'
})

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)
})
