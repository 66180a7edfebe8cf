import cluster, { type Worker } from 'node:cluster'
import { AggregatorRegistry } from 'prom-client'
import type { Measured } from '../metrics/metrics.js'
import { isOurs, type ToPrimary, tell } from './messages.js'

/** One that has not answered by then is missed, and what is missed must not look like less. */
const WITHIN_MS = 5000

interface Question {
  readonly missing: Set<number>
  readonly answer: () => void
}

/**
 * In the primary: adds up what all workers measure, for whichever is asked. What one that has ended had counted stays: to
 * Prometheus, a counter that goes down has begun anew.
 */
export function measureForAll(): void {
  const open = new Map<number, Question>()
  const last = new Map<number, Measured>()
  const ended = new Map<string, number>()
  let questions = 0

  cluster.on('message', (worker, message: ToPrimary) => {
    if (!isOurs(message)) return
    if (message.tidegate === 'metrics') askAll(worker, message.id)
    else if (message.tidegate === 'measured' && !worker.isDead()) {
      last.set(worker.id, message.metrics)
      heard(message.id, worker)
    }
  })
  cluster.on('exit', (worker) => {
    for (const [series, value] of countersIn(last.get(worker.id) ?? [])) {
      ended.set(series, (ended.get(series) ?? 0) + value.value)
    }
    last.delete(worker.id)
    for (const id of open.keys()) heard(id, worker)
  })

  function askAll(asker: Worker, askersId: number): void {
    const id = questions++
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected())
    const answer = (text: Promise<string> | undefined) => {
      clearTimeout(late)
      open.delete(id)
      Promise.resolve(text).then((text) => tell(asker, { tidegate: 'metrics', id: askersId, text }))
    }
    const late = setTimeout(() => answer(undefined), WITHIN_MS).unref()
    const missing = new Set(workers.map((worker) => worker!.id))
    open.set(id, { missing, answer: () => answer(sum()) })
    for (const worker of workers) tell(worker!, { tidegate: 'measure', id })
  }

  function heard(id: number, worker: Worker): void {
    const question = open.get(id)
    if (question?.missing.delete(worker.id) && question.missing.size === 0) question.answer()
  }

  async function sum(): Promise<string> {
    const registry = AggregatorRegistry.aggregate([...last.values()])
    // Only what is still measured: the series of a policy that is gone are gone.
    for (const [series, value] of countersIn(await registry.getMetricsAsJSON())) {
      value.value += ended.get(series) ?? 0
    }
    return registry.metrics()
  }
}

/** Every series that only ever grows, by its name and labels. */
function countersIn(metrics: Measured): [string, { value: number }][] {
  return metrics
    .filter(({ type, aggregator }) => aggregator === 'sum' && ['counter', 'histogram'].includes(String(type)))
    .flatMap(({ name, values }) =>
      // Those of a histogram have names of their own.
      values.map((value: { value: number; labels: object; metricName?: string }) => [
        JSON.stringify([value.metricName ?? name, value.labels]),
        value,
      ]),
    )
}
