import cluster, { type Worker } from 'node:cluster'
import type { Figures } from '../live/figures.js'
import { isOurs, type ToPrimary, type ToWorker, tell } from './messages.js'

/** One that has not answered by then is left out: the next look is a second away. */
const WITHIN_MS = 500

interface Question {
  readonly missing: Set<number>
  readonly all: Figures[]
  readonly answer: () => void
}

/** In the primary: asks every worker what it has counted, for whichever wants to know. */
export function countForAll(): void {
  const open = new Map<number, Question>()
  let questions = 0

  cluster.on('message', (worker, message: ToPrimary) => {
    if (!isOurs(message)) return
    if (message.tidegate === 'count-all') askAll(worker, message.id)
    else if (message.tidegate === 'counted') {
      const question = open.get(message.id)
      if (question?.missing.delete(worker.id) !== true) return
      question.all.push(message.figures)
      if (question.missing.size === 0) question.answer()
    }
  })

  function askAll(asker: Worker, askersId: number): void {
    const id = questions++
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected())
    const all: Figures[] = []
    const answer = () => {
      clearTimeout(late)
      open.delete(id)
      tell(asker, { tidegate: 'counted', id: askersId, all })
    }
    const late = setTimeout(answer, WITHIN_MS).unref()
    open.set(id, { missing: new Set(workers.map((worker) => worker!.id)), all, answer })
    for (const worker of workers) tell(worker!, { tidegate: 'count', id })
  }
}

/** In a worker: asks the primary, and answers it. */
export function createCounting(send: (message: ToPrimary) => void) {
  const asked = new Map<number, (all: readonly Figures[]) => void>()
  let questions = 0

  return {
    /** What all have counted, this one too. If the primary does not say, what this one has. */
    collect(figures: () => Figures): Promise<readonly Figures[]> {
      const id = questions++
      return new Promise((resolve) => {
        const late = setTimeout(() => answer([]), 2 * WITHIN_MS).unref()
        const answer = (all: readonly Figures[]) => {
          clearTimeout(late)
          asked.delete(id)
          resolve(all.length === 0 ? [figures()] : all)
        }
        asked.set(id, answer)
        send({ tidegate: 'count-all', id })
      })
    },
    /** Takes what the primary says, if it is about this. */
    hear(message: ToWorker, figures: () => Figures): void {
      if (message.tidegate === 'count') send({ tidegate: 'counted', id: message.id, figures: figures() })
      else if (message.tidegate === 'counted') asked.get(message.id)?.(message.all)
    },
  }
}
