import { terminalOf } from './cli/terminal.js'
import { runCli } from './cli.js'

// Whoever reads the output may have seen enough, as `head` does: that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

process.exitCode = await runCli(process.argv.slice(2), terminalOf(process))
