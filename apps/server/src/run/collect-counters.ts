import cluster, { type Worker } from 'node:cluster'
import type { Counters } from '../live/counters.js'
import { isTidegateMessage, sendToWorker, type ToPrimary, type ToWorker } from './messages.js'

/** A worker that responds later is left out: the next event follows in a second. */
const WITHIN_MS = 500

interface PendingRequest {
  readonly missing: Set<number>
  readonly all: Counters[]
  readonly respond: () => void
}

/** In the primary: collects the counters of all workers for the worker that requests them. */
export function collectCountersForWorkers(): void {
  const pendingRequests = new Map<number, PendingRequest>()
  let nextId = 0

  cluster.on('message', (worker, message: ToPrimary) => {
    if (!isTidegateMessage(message)) return
    if (message.tidegate === 'get-all-counters') requestAll(worker, message.id)
    else if (message.tidegate === 'counters') {
      const pendingRequest = pendingRequests.get(message.id)
      if (pendingRequest?.missing.delete(worker.id) !== true) return
      pendingRequest.all.push(message.counters)
      if (pendingRequest.missing.size === 0) pendingRequest.respond()
    }
  })

  function requestAll(requester: Worker, requesterId: number): void {
    const id = nextId++
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected())
    const all: Counters[] = []
    const respond = () => {
      clearTimeout(timeout)
      pendingRequests.delete(id)
      sendToWorker(requester, { tidegate: 'counters', id: requesterId, all })
    }
    const timeout = setTimeout(respond, WITHIN_MS).unref()
    pendingRequests.set(id, { missing: new Set(workers.map((worker) => worker!.id)), all, respond })
    for (const worker of workers) sendToWorker(worker!, { tidegate: 'get-counters', id })
  }
}

/** In a worker: requests the counters of all, and sends its own. */
export function createCounterCollector(send: (message: ToPrimary) => void) {
  const pending = new Map<number, (all: readonly Counters[]) => void>()
  let nextId = 0

  return {
    /** The counters of all workers; only those of this one if the primary does not respond. */
    collect(counters: () => Counters): Promise<readonly Counters[]> {
      const id = nextId++
      return new Promise((resolve) => {
        const timeout = setTimeout(() => finish([]), 2 * WITHIN_MS).unref()
        const finish = (all: readonly Counters[]) => {
          clearTimeout(timeout)
          pending.delete(id)
          resolve(all.length === 0 ? [counters()] : all)
        }
        pending.set(id, finish)
        send({ tidegate: 'get-all-counters', id })
      })
    },
    /** Handles messages of the primary about counters. */
    handleMessage(message: ToWorker, counters: () => Counters): void {
      if (message.tidegate === 'get-counters')
        send({ tidegate: 'counters', id: message.id, counters: counters() })
      else if (message.tidegate === 'counters') pending.get(message.id)?.(message.all)
    },
  }
}
