import { type FSWatcher, watch } from 'node:fs'

/** Calls `onEvent` for events in a folder. Undefined if the system cannot watch it: then callers have to poll. */
export function watchFolder(folder: string, onEvent: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, onEvent)
    // A folder that is deleted ends the watch.
    return watcher.on('error', () => watcher.close())
  } catch {
    return undefined
  }
}
