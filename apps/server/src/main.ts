import cluster from 'node:cluster'
import { terminalOf } from './cli/terminal.js'
import { runCli } from './cli.js'

const args = process.argv.slice(2)
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever reads the output may have seen enough, as `head` does: that is no failure. And what a service prints is its
  // log: if the disk is full, it serves without.
  if (error.code !== 'EPIPE' && args[0] !== 'start') throw error
})
// There is nowhere left to say it.
process.stderr.on('error', () => {})

process.exitCode = await runCli(args, terminalOf(process))
// One that cannot serve ends, whatever it still has open: only then does the primary start another.
if (cluster.isWorker && process.exitCode !== 0) process.exit()
