import {
  type Breaker,
  type BreakerOptions,
  type BreakerState,
  type Circuit,
  createBreaker,
  NO_PERMIT,
} from './breaker.js'

interface BreakerChange {
  state: BreakerState
  /** The part of the store; undefined for a store of one part. */
  part: string | undefined
  /** The error that opened it. */
  error?: unknown
}

export interface BreakersOptions extends Omit<BreakerOptions, 'onChange'> {
  onChange: (change: BreakerChange) => void
}

/** A circuit breaker for each part of a store: parts that are up stay in use. */
export function createBreakers({ now, random, onChange }: BreakersOptions) {
  const parts = new Map<string | undefined, Part>()
  /** Parts whose breaker is not closed. */
  const troubled = new Set<Part>()
  let sweptMs = 0

  function partOf(name: string | undefined): Part {
    const existing = parts.get(name)
    if (existing !== undefined) return existing
    const part: Part = {
      name,
      isUsed: true,
      breaker: createBreaker({
        now,
        random,
        onChange(state, error) {
          if (state === 'closed') troubled.delete(part)
          else troubled.add(part)
          onChange({ state, part: name, error })
        },
      }),
    }
    parts.set(name, part)
    return part
  }

  /** Removes parts without calls: such a part may be gone, its keys moved, and would look down forever. */
  function removeUnused(): void {
    if (now() - sweptMs < UNUSED_AFTER_MS) return
    sweptMs = now()
    for (const part of troubled) {
      if (!part.isUsed) {
        parts.delete(part.name)
        troubled.delete(part)
        onChange({ state: 'closed', part: part.name })
      }
      part.isUsed = false
    }
  }

  function usedPart(name: string | undefined): Breaker {
    const part = partOf(name)
    part.isUsed = true
    if (troubled.size > 0) removeUnused()
    return part.breaker
  }

  return {
    /** The breaker of one part. */
    of: usedPart,

    /** One circuit for a call to several parts. */
    ofAll(names: readonly (string | undefined)[]): Circuit {
      const involved = [...new Set(names)].map(usedPart)
      return involved.length === 1 ? involved[0]! : inSeries(involved)
    },

    /** The worst state. */
    state(): BreakerState {
      const states = [...troubled].map(({ breaker }) => breaker.state)
      return states.includes('open') ? 'open' : (states[0] ?? 'closed')
    },

    /** Every part may be back. */
    retrySoon() {
      for (const { breaker } of troubled) breaker.retrySoon()
    },

    /** The longest wait. */
    waitMs: () => Math.max(0, ...[...troubled].map(({ breaker }) => breaker.waitMs())),
  }
}

interface Part {
  readonly name: string | undefined
  readonly breaker: Breaker
  isUsed: boolean
}

const UNUSED_AFTER_MS = 10_000

/** For one call that needs several parts: each must give a permit. */
function inSeries(breakers: readonly Breaker[]): Circuit {
  let permits: number[] = []
  let answersBefore: number[] = []
  return {
    acquire() {
      answersBefore = breakers.map((breaker) => breaker.answers)
      permits = breakers.map((breaker) => breaker.acquire())
      if (!permits.includes(NO_PERMIT)) return 0
      for (const [i, breaker] of breakers.entries()) {
        if (permits[i] !== NO_PERMIT) breaker.ignored(permits[i]!)
      }
      return NO_PERMIT
    },
    succeeded() {
      for (const [i, breaker] of breakers.entries()) breaker.succeeded(permits[i]!)
    },
    /** The failing part is unknown: parts that have answered other calls meanwhile are not blamed. */
    failed(_permit, error, how) {
      const suspects = breakers.filter((breaker, i) => breaker.answers === answersBefore[i])
      const blamed = suspects.length > 0 ? suspects : breakers
      for (const [i, breaker] of breakers.entries()) {
        if (blamed.includes(breaker)) breaker.failed(permits[i]!, error, how)
        else breaker.ignored(permits[i]!)
      }
    },
    ignored() {
      for (const [i, breaker] of breakers.entries()) breaker.ignored(permits[i]!)
    },
  }
}
