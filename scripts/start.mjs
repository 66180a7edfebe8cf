// What `npm start` runs: the set-up and the service, in one process.
import { fileURLToPath } from 'node:url'
import './setup.mjs'

const tidegate = new URL('../apps/server/bin/tidegate.mjs', import.meta.url)
// Workers are started by this name.
process.argv[1] = fileURLToPath(tidegate)

// npm puts a shell in between, which a SIGTERM to npm ends and which does not pass it on.
const shell = process.ppid
const watch = setInterval(() => {
  if (process.ppid === shell) return
  clearInterval(watch)
  process.kill(process.pid, 'SIGTERM')
}, 200).unref()

await import(tidegate.href)
