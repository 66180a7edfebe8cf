import cluster from 'node:cluster'
import { runCli } from './cli/index.js'
import { terminalOf } from './cli/terminal.js'

const args = process.argv.slice(2)
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader such as `head` may close the pipe early. If the disk is full, a service continues without its log.
  if (error.code !== 'EPIPE' && args[0] !== 'start') throw error
})
// An error of stderr cannot be reported.
process.stderr.on('error', () => {})

process.exitCode = await runCli(args, terminalOf(process))
// A worker that cannot serve must exit even with open handles: the primary waits for its exit.
if (cluster.isWorker && process.exitCode !== 0) process.exit()
