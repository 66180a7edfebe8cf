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
  /** The part of the store; undefined for a store with a single part. */
  part: string | undefined
  /** The failure that opened the breaker. */
  error?: unknown
}

export interface BreakersOptions extends Omit<BreakerOptions, 'onChange'> {
  onChange: (change: BreakerChange) => void
}

/** A circuit breaker for each part of a store, so that available parts stay in use. */
export function createBreakers({ now, random, onChange }: BreakersOptions) {
  const parts = new Map<string | undefined, Part>()
  /** Parts whose breaker is not closed. */
  const failingParts = new Set<Part>()
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
          if (state === 'closed') failingParts.delete(part)
          else failingParts.add(part)
          onChange({ state, part: name, error })
        },
      }),
    }
    parts.set(name, part)
    return part
  }

  /** Removes failing parts without calls: their keys may have moved, so their breakers would never close. */
  function removeUnused(): void {
    if (now() - sweptMs < UNUSED_AFTER_MS) return
    sweptMs = now()
    for (const part of failingParts) {
      if (!part.isUsed) {
        parts.delete(part.name)
        failingParts.delete(part)
        onChange({ state: 'closed', part: part.name })
      }
      part.isUsed = false
    }
  }

  function usedPart(name: string | undefined): Breaker {
    const part = partOf(name)
    part.isUsed = true
    if (failingParts.size > 0) removeUnused()
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
      const states = [...failingParts].map(({ breaker }) => breaker.state)
      return states.includes('open') ? 'open' : (states[0] ?? 'closed')
    },

    /** Reports that every part may be available again. */
    retrySoon() {
      for (const { breaker } of failingParts) breaker.retrySoon()
    },

    /** The longest wait. */
    waitMs: () => Math.max(0, ...[...failingParts].map(({ breaker }) => breaker.waitMs())),
  }
}

interface Part {
  readonly name: string | undefined
  readonly breaker: Breaker
  isUsed: boolean
}

const UNUSED_AFTER_MS = 10_000

/** A circuit for a call that needs several parts. Each part must give a permit. */
function inSeries(breakers: readonly Breaker[]): Circuit {
  let permits: number[] = []
  let successesBefore: number[] = []
  return {
    acquire() {
      successesBefore = breakers.map((breaker) => breaker.successes)
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
    /** The failing part is unknown, so parts that have succeeded in the meantime are not blamed. */
    failed(_permit, error, how) {
      const suspects = breakers.filter((breaker, i) => breaker.successes === successesBefore[i])
      const blamedBreakers = suspects.length > 0 ? suspects : breakers
      for (const [i, breaker] of breakers.entries()) {
        if (blamedBreakers.includes(breaker)) breaker.failed(permits[i]!, error, how)
        else breaker.ignored(permits[i]!)
      }
    },
    ignored() {
      for (const [i, breaker] of breakers.entries()) breaker.ignored(permits[i]!)
    },
  }
}
