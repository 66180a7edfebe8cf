// Lets a process run only for a part of each period. Arguments: its pid, how long it runs, the period, in milliseconds.
// Sends a message for each stop. When this process ends, the other one runs again.
const [pid = 0, runMs = 10, periodMs = 100] = process.argv.slice(2).map(Number)

function signal(/** @type {NodeJS.Signals} */ name) {
  try {
    process.kill(pid, name)
  } catch {
    process.exit(0)
  }
}

process.on('exit', () => {
  try {
    process.kill(pid, 'SIGCONT')
  } catch {
    // The process has ended.
  }
})
process.on('disconnect', () => process.exit(0))
setInterval(() => {
  signal('SIGCONT')
  setTimeout(() => {
    signal('SIGSTOP')
    process.send?.('stopped')
  }, runMs)
}, periodMs)
