/** The sizes of the latest responses of each model, to estimate the next one. */
export interface OutputHistory {
  /** The 95th percentile of the latest outputs; undefined if there are fewer than 20. */
  p95(policy: string, model: string): number | undefined
  /**
   * `isCutOff`: the output ended at a maximum, and would have been longer. It counts only if it is above the p95: clients
   * could otherwise lower the estimates of all others with a maximum of 1.
   */
  add(policy: string, model: string, outputTokens: number, isCutOff?: boolean): void
}

/** The number of latest outputs that count. */
const MAX_OUTPUTS = 1000
/** With fewer, a few short outputs would lower the estimates of requests that declare a large maximum. */
const MIN_OUTPUTS = 20
/** Beyond this number, the least recently used model is dropped. */
const MAX_MODELS = 200

const histories = new WeakMap<object, OutputHistory>()

/** Returns the history of a store. It outlives the routes, which a new configuration replaces. */
export function outputHistoryOf(store: object): OutputHistory {
  const history = histories.get(store) ?? createOutputHistory()
  histories.set(store, history)
  return history
}

/** `MAX_MODELS` of all policies together: about 3 MB. */
export function createOutputHistory(): OutputHistory {
  const models = new Map<string, LatestOutputs>()
  return {
    p95: (policy, model) => models.get(nameOf(policy, model))?.p95(),
    add(policy, model, outputTokens, isCutOff = false) {
      const name = nameOf(policy, model)
      const p95 = models.get(name)?.p95()
      if (isCutOff && (p95 === undefined || outputTokens <= p95)) return
      const outputs = models.get(name) ?? createLatestOutputs()
      outputs.add(outputTokens)
      models.delete(name)
      models.set(name, outputs)
      if (models.size > MAX_MODELS) models.delete(models.keys().next().value!)
    },
  }
}

/** Policy names have no line ends. */
function nameOf(policy: string, model: string): string {
  return `${policy}\n${model}`
}

interface LatestOutputs {
  p95(): number | undefined
  add(tokens: number): void
}

/** A ring of the latest outputs, and the same numbers sorted. */
function createLatestOutputs(): LatestOutputs {
  const ring: number[] = []
  const sorted: number[] = []
  let oldest = 0
  return {
    // Nearest rank: of 100 outputs, the 95th.
    p95: () => (sorted.length < MIN_OUTPUTS ? undefined : sorted[Math.ceil(sorted.length * 0.95) - 1]),
    add(tokens) {
      if (ring.length === MAX_OUTPUTS) {
        sorted.splice(indexOf(ring[oldest]!, sorted), 1)
        ring[oldest] = tokens
        oldest = (oldest + 1) % MAX_OUTPUTS
      } else ring.push(tokens)
      sorted.splice(indexOf(tokens, sorted), 0, tokens)
    },
  }
}

/** The index of a number in a sorted list, or the index at which to insert it. */
function indexOf(number: number, sorted: readonly number[]): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle]! < number) low = middle + 1
    else high = middle
  }
  return low
}
