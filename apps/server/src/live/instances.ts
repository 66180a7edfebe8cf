/** One process that serves with the same store. */
export interface Instance {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly version: string
  readonly startedMs: number
}

/** Who else uses the store. */
export interface Instances {
  readonly self: Instance
  /** This one too; as of a few seconds ago. Nobody while the store does not say. */
  list(): readonly Instance[]
  /** Says that this one is gone. */
  close(): Promise<void>
}

/** Where lines about instances are kept. */
export interface InstanceBoard {
  report(line: string): Promise<readonly string[]>
  leave(line: string): Promise<void>
}

const REPORT_EVERY_MS = 5000
/** Soon at first: the connection is only just being made. */
const TRY_AGAIN_MS = 250
/** One who may not must not fill a log with it. */
const TRY_AGAIN_IF_FORBIDDEN_MS = 60_000
/** How long to wait for the store when going. */
const LEAVE_WITHIN_MS = 200

/** A store that nobody shares. */
export function onlyThis(self: Instance): Instances {
  return { self, list: () => [self], close: async () => {} }
}

/** Keeps a line about this one on the board, and reads those of the others. A board that fails is an empty one. */
export function sharedBy(self: Instance, board: InstanceBoard): Instances {
  const line = JSON.stringify(self)
  let seen: readonly Instance[] = []
  let timer: NodeJS.Timeout | undefined
  let failures = 0
  let isClosed = false

  async function report(): Promise<void> {
    let waitMs = REPORT_EVERY_MS
    try {
      const lines = await board.report(line)
      seen = lines.flatMap(instanceIn)
      failures = 0
    } catch (error) {
      seen = []
      const isForbidden = String(error).includes('NOPERM')
      waitMs = isForbidden
        ? TRY_AGAIN_IF_FORBIDDEN_MS
        : Math.min(REPORT_EVERY_MS, TRY_AGAIN_MS * 2 ** failures++)
    }
    if (!isClosed) timer = setTimeout(report, waitMs).unref()
  }

  void report()
  return {
    self,
    list: () => seen,
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

/** What a line says, if it is one of ours: anybody who may write to the store may have written it. */
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
