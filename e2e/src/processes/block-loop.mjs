// Preloaded with `--import`. From SIGUSR2 on, the event loop is blocked for 200 ms at a time, with 100 ms between.
const BLOCKED_MS = 200
const FREE_MS = 100

function block() {
  const untilMs = performance.now() + BLOCKED_MS
  while (performance.now() < untilMs);
  setTimeout(block, FREE_MS).unref()
}

process.once('SIGUSR2', block)
