// `npm run lab`: serves the page on its own, without the service.
import { serveSite } from './static-server.mjs'

const DEFAULT_PORT = 4173

const port = process.env.PORT === undefined ? DEFAULT_PORT : Number(process.env.PORT)
try {
  const { url } = await serveSite(port)
  console.log(`Lab running at ${url} (press Ctrl+C to stop)`)
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error)
  console.error(`lab: cannot serve on port ${port}: ${reason}. Set PORT to a free port, or to 0 to pick one.`)
  process.exitCode = 1
}
