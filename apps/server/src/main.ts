import cluster from 'node:cluster'
import { runCli } from './cli/index.js'
import { terminalOf } from './cli/terminal.js'

const args = process.argv.slice(2)
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader may close the pipe early, as `head` does, which is not a failure. The output of a service is its
  // log: if the disk is full, the service continues without it.
  if (error.code !== 'EPIPE' && args[0] !== 'start') throw error
})
// An error of stderr cannot be reported.
process.stderr.on('error', () => {})

process.exitCode = await runCli(args, terminalOf(process))
// A worker that cannot serve exits, even with open handles: the primary starts another only after its exit.
if (cluster.isWorker && process.exitCode !== 0) process.exit()
