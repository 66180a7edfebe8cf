// `npm start`: the set-up and the service, in one process.
import { fileURLToPath } from 'node:url'
import './setup.mjs'

const tidegate = new URL('../apps/server/bin/tidegate.mjs', import.meta.url)
// Workers are started by this name.
process.argv[1] = fileURLToPath(tidegate)

// npm runs this script in a shell, which ends on a SIGTERM to npm and does not pass the signal on.
const shell = process.ppid
const watch = setInterval(() => {
  if (process.ppid === shell) return
  clearInterval(watch)
  process.kill(process.pid, 'SIGTERM')
}, 200).unref()

await import(tidegate.href)
