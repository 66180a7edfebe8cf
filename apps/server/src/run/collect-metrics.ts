import cluster, { type Worker } from 'node:cluster'
import { AggregatorRegistry } from 'prom-client'
import type { MetricsSnapshot } from '../metrics/metrics.js'
import { isTidegateMessage, sendToWorker, type ToPrimary } from './messages.js'

/** A worker that responds later fails the scrape: partial sums would look like counter resets. */
const WITHIN_MS = 5000

interface PendingRequest {
  readonly missing: Set<number>
  readonly respond: () => void
}

/**
 * In the primary: adds up the metrics of all workers for the worker that requests them. Keeps the counts of ended workers,
 * because Prometheus treats a decreasing counter as a reset.
 */
export function collectMetricsForWorkers(): void {
  const pendingRequests = new Map<number, PendingRequest>()
  const last = new Map<number, MetricsSnapshot>()
  const ended = new Map<string, number>()
  let nextId = 0

  cluster.on('message', (worker, message: ToPrimary) => {
    if (!isTidegateMessage(message)) return
    if (message.tidegate === 'metrics') requestAll(worker, message.id)
    else if (message.tidegate === 'worker-metrics' && !worker.isDead()) {
      last.set(worker.id, message.metrics)
      settle(message.id, worker)
    }
  })
  cluster.on('exit', (worker) => {
    for (const [series, value] of countersIn(last.get(worker.id) ?? [])) {
      ended.set(series, (ended.get(series) ?? 0) + value.value)
    }
    last.delete(worker.id)
    for (const id of pendingRequests.keys()) settle(id, worker)
  })

  function requestAll(requester: Worker, requesterId: number): void {
    const id = nextId++
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected())
    const respond = (text: Promise<string> | undefined) => {
      clearTimeout(timeout)
      pendingRequests.delete(id)
      Promise.resolve(text).then((text) =>
        sendToWorker(requester, { tidegate: 'metrics', id: requesterId, text }),
      )
    }
    const timeout = setTimeout(() => respond(undefined), WITHIN_MS).unref()
    const missing = new Set(workers.map((worker) => worker!.id))
    pendingRequests.set(id, { missing, respond: () => respond(sum()) })
    for (const worker of workers) sendToWorker(worker!, { tidegate: 'get-metrics', id })
  }

  function settle(id: number, worker: Worker): void {
    const pendingRequest = pendingRequests.get(id)
    if (pendingRequest?.missing.delete(worker.id) && pendingRequest.missing.size === 0)
      pendingRequest.respond()
  }

  async function sum(): Promise<string> {
    const registry = AggregatorRegistry.aggregate([...last.values()])
    // Only series that still exist: those of a removed policy are dropped.
    for (const [series, value] of countersIn(await registry.getMetricsAsJSON())) {
      value.value += ended.get(series) ?? 0
    }
    return registry.metrics()
  }
}

/** All series that only increase, by name and labels. */
function countersIn(metrics: MetricsSnapshot): [string, { value: number }][] {
  return metrics
    .filter(({ type, aggregator }) => aggregator === 'sum' && ['counter', 'histogram'].includes(String(type)))
    .flatMap(({ name, values }) =>
      // The series of a histogram have their own names.
      values.map((value: { value: number; labels: object; metricName?: string }) => [
        JSON.stringify([value.metricName ?? name, value.labels]),
        value,
      ]),
    )
}
