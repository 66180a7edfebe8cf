/** One process that serves with the same store. */
export interface Instance {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly version: string
  readonly startedMs: number
}

/** The instances that share the store. */
export interface InstanceRegistry {
  readonly self: Instance
  /** All instances as of a few seconds ago, including this one; empty while the store is unavailable. */
  list(): readonly Instance[]
  /** Removes this instance. */
  close(): Promise<void>
}

/** Stores one line per instance. */
export interface InstanceBoard {
  report(line: string): Promise<readonly string[]>
  leave(line: string): Promise<void>
}

const REPORT_EVERY_MS = 5000
/** The first retry is early, because the connection may still be opening. */
const RETRY_MS = 250
/** Redis logs forbidden commands, so they are retried rarely. */
const RETRY_IF_FORBIDDEN_MS = 60_000
/** How long to wait for the store at shutdown. */
const LEAVE_WITHIN_MS = 200

/** The registry of a store that is not shared. */
export function singleInstance(self: Instance): InstanceRegistry {
  return { self, list: () => [self], close: async () => {} }
}

/** Registers this instance periodically, and reads the others. The list is empty while the store fails. */
export function registerInstance(self: Instance, board: InstanceBoard): InstanceRegistry {
  const line = JSON.stringify(self)
  let instances: readonly Instance[] = []
  let timer: NodeJS.Timeout | undefined
  let failures = 0
  let isClosed = false

  async function report(): Promise<void> {
    let waitMs = REPORT_EVERY_MS
    try {
      const lines = await board.report(line)
      instances = lines.flatMap(instanceIn)
      failures = 0
    } catch (error) {
      instances = []
      const isForbidden = String(error).includes('NOPERM')
      waitMs = isForbidden ? RETRY_IF_FORBIDDEN_MS : Math.min(REPORT_EVERY_MS, RETRY_MS * 2 ** failures++)
    }
    if (!isClosed) timer = setTimeout(report, waitMs).unref()
  }

  void report()
  return {
    self,
    list: () => instances,
    async close() {
      if (isClosed) return
      isClosed = true
      clearTimeout(timer)
      await Promise.race([
        board.leave(line).catch(() => {}),
        new Promise((resolve) => setTimeout(resolve, LEAVE_WITHIN_MS).unref()),
      ])
    },
  }
}

/** Parses a line, and ignores invalid ones: other clients of the store may have written it. */
function instanceIn(line: string): Instance[] {
  try {
    const { id, host, pid, version, startedMs } = JSON.parse(line) as Record<string, unknown>
    if (!isText(id) || !isText(host) || !isText(version)) return []
    if (!Number.isSafeInteger(pid) || !Number.isFinite(startedMs)) return []
    return [{ id, host, pid: pid as number, version, startedMs: startedMs as number }]
  } catch {
    return []
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= 256
}
