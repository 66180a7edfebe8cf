import cluster from 'node:cluster'
import { terminalOf } from './cli/terminal.js'
import { runCli } from './cli.js'

// Whoever reads the output may have seen enough, as `head` does: that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

process.exitCode = await runCli(process.argv.slice(2), terminalOf(process))
// One that cannot serve ends, whatever it still has open: only then does the primary start another.
if (cluster.isWorker && process.exitCode !== 0) process.exit()
