import { type FSWatcher, watch } from 'node:fs'

/** Calls `onEvent` for events in a folder. Returns undefined if the system cannot watch it; callers poll as well. */
export function watchFolder(folder: string, onEvent: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, onEvent)
    // Deleting the folder ends the watch.
    return watcher.on('error', () => watcher.close())
  } catch {
    return undefined
  }
}
