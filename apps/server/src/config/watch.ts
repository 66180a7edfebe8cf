import { type FSWatcher, readFileSync, statSync, watch } from 'node:fs'
import { dirname } from 'node:path'

export interface WatchOptions {
  /** How long a file must be quiet before it counts as written. Default: 100. */
  debounceMs?: number
  /** How often to look, whether or not the system has said anything. Default: 2000. */
  pollMs?: number
}

export interface Watch {
  close(): void
}

/**
 * Calls `onChange` whenever what is in a file has changed: written in place, replaced by a rename as editors do, or
 * swapped by a symbolic link as Kubernetes does. So the folder is watched, not the file, which may be another one
 * next time; and because some file systems never say anything, it also looks by itself now and then. A file that
 * is gone or cannot be read has not changed. It keeps no process alive.
 */
export function watchConfig(file: string, onChange: () => void, options: WatchOptions = {}): Watch {
  const { debounceMs = 100, pollMs = 2000 } = options
  let waiting: NodeJS.Timeout | undefined
  const watcher = watchFolder(dirname(file), soon)
  // In this order: what is written in between is seen at the next look.
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

/** A watch that has begun before there is anybody to tell. */
export interface EarlyWatch extends Watch {
  /** From now on this is called. If something has changed before, at once. */
  tell(onChange: () => void): void
}

/** Watches what a service is about to be started by, so that what is written while it starts is not missed. */
export function watchEarly(file: string, options: WatchOptions = {}): EarlyWatch {
  let hasChanged = false
  let onChange = () => {
    hasChanged = true
  }
  const { close } = watchConfig(file, () => onChange(), options)
  return {
    close,
    tell(listener) {
      onChange = listener
      if (hasChanged) listener()
    },
  }
}

/** Undefined where the system cannot tell: looking now and then is then all there is. */
function watchFolder(folder: string, onEvent: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, onEvent)
    // A folder that is deleted ends it.
    return watcher.on('error', () => watcher.close())
  } catch {
    return undefined
  }
}

function contentOf(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}

/** Another one whenever the file is another or has been written. */
function stampOf(file: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true })
    return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`
  } catch {
    return ''
  }
}
