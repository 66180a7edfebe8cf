import { dirname } from 'node:path'
import { watchFolder } from '../../config-file/watch-folder.js'
import { foldersOf, readLimitFiles } from './limit-files.js'
import type { LimitFileText } from './load-limits.js'

export interface LimitFilesWatch {
  /** Reads the files now, and calls `onChange` even if they are the same. */
  readNow(): void
  close(): void
}

const DEBOUNCE_MS = 100
const POLL_MS = 2000

/**
 * Calls `onChange` with the texts of all files whenever a file has changed, appeared or disappeared. Watches the folders, and
 * reads the files every two seconds, because some file systems report no events. The watch does not keep the process alive.
 */
export function watchLimitFiles(
  paths: readonly string[],
  first: readonly LimitFileText[],
  onChange: (texts: LimitFileText[]) => void,
): LimitFilesWatch {
  let before = JSON.stringify(first)
  let waiting: NodeJS.Timeout | undefined
  const watchers = foldersToWatch(paths).flatMap((folder) => watchFolder(folder, soon) ?? [])
  const poll = setInterval(look, POLL_MS).unref()

  function soon(): void {
    clearTimeout(waiting)
    waiting = setTimeout(look, DEBOUNCE_MS).unref()
  }

  function look(): void {
    const texts = readLimitFiles(paths)
    const now = JSON.stringify(texts)
    if (now === before) return
    before = now
    onChange(texts)
  }

  return {
    readNow() {
      const texts = readLimitFiles(paths)
      before = JSON.stringify(texts)
      onChange(texts)
    },
    close() {
      clearInterval(poll)
      clearTimeout(waiting)
      for (const watcher of watchers) watcher.close()
    },
  }
}

function foldersToWatch(paths: readonly string[]): string[] {
  return [...new Set([...paths.map((path) => dirname(path)), ...foldersOf(paths)])]
}
