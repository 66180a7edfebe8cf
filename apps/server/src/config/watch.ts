import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { watchFolder } from '../config-file/watch-folder.js'

export interface WatchOptions {
  /** How long a file must be quiet before it counts as written. Default: 100. */
  debounceMs?: number
  /** How often to poll the file, in addition to file system events. Default: 2000. */
  pollMs?: number
}

export interface Watch {
  close(): void
}

/**
 * Calls `onChange` whenever the content of a file has changed: written in place, replaced by a rename as editors do, or
 * swapped by a symbolic link as Kubernetes does. Watches the folder, because the file may be replaced, and polls the file,
 * because some file systems report no events. A missing or unreadable file counts as unchanged. The watch does not keep the
 * process alive.
 */
export function watchConfig(file: string, onChange: () => void, options: WatchOptions = {}): Watch {
  const { debounceMs = 100, pollMs = 2000 } = options
  let waiting: NodeJS.Timeout | undefined
  const watcher = watchFolder(dirname(file), soon)
  // The stamp is taken first: the next poll detects a write between the two calls.
  let stamp = stampOf(file)
  let content = contentOf(file)
  const poll = setInterval(() => {
    const now = stampOf(file)
    if (now === stamp) return
    stamp = now
    soon()
  }, pollMs).unref()

  function soon(): void {
    clearTimeout(waiting)
    waiting = setTimeout(look, debounceMs).unref()
  }

  function look(): void {
    const now = contentOf(file)
    if (now === undefined || (content !== undefined && now.equals(content))) return
    content = now
    onChange()
  }

  return {
    close() {
      clearInterval(poll)
      clearTimeout(waiting)
      watcher?.close()
    },
  }
}

/** A watch that records a change until it has a listener. */
export interface BufferedWatch extends Watch {
  /** Sets the listener, and calls it at once if the file has changed before. */
  subscribe(onChange: () => void): void
}

/** Watches the file of a service that is about to start, so that a change during the start is not missed. */
export function watchFromStart(file: string, options: WatchOptions = {}): BufferedWatch {
  let hasChanged = false
  let onChange = () => {
    hasChanged = true
  }
  const { close } = watchConfig(file, () => onChange(), options)
  return {
    close,
    subscribe(listener) {
      onChange = listener
      if (hasChanged) listener()
    },
  }
}

function contentOf(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}

/** A text that changes whenever the file is replaced or written. */
function stampOf(file: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true })
    return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`
  } catch {
    return ''
  }
}
