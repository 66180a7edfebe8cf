import {
  type Breaker,
  type BreakerOptions,
  type BreakerState,
  type Circuit,
  createBreaker,
  NO_LEAVE,
} from './breaker.js'

export interface BreakerChange {
  state: BreakerState
  /** Which part of the store; undefined for a store that has none. */
  part: string | undefined
  /** What opened it. */
  error?: unknown
}

export interface BreakersOptions extends Omit<BreakerOptions, 'onChange'> {
  onChange: (change: BreakerChange) => void
}

/** A breaker for each part of a store. */
export function createBreakers({ now, random, onChange }: BreakersOptions) {
  const parts = new Map<string | undefined, Part>()
  /** Those that are not closed. */
  const troubled = new Set<Part>()
  let lookedMs = 0

  function partOf(name: string | undefined): Part {
    const known = parts.get(name)
    if (known !== undefined) return known
    const part: Part = {
      name,
      isAsked: true,
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

  /**
   * A part that nobody asks any more cannot show that it is well: it may be gone, its keys elsewhere. So that
   * it does not look down for ever, it is forgotten.
   */
  function forgetUnasked(): void {
    if (now() - lookedMs < FORGOTTEN_AFTER_MS) return
    lookedMs = now()
    for (const part of troubled) {
      if (!part.isAsked) {
        parts.delete(part.name)
        troubled.delete(part)
        onChange({ state: 'closed', part: part.name })
      }
      part.isAsked = false
    }
  }

  function askedPart(name: string | undefined): Breaker {
    const part = partOf(name)
    part.isAsked = true
    if (troubled.size > 0) forgetUnasked()
    return part.breaker
  }

  return {
    /** What stands before a call to one part. */
    of: askedPart,

    /** What stands before a call to several parts. */
    ofAll(names: readonly (string | undefined)[]): Circuit {
      const involved = [...new Set(names)].map(askedPart)
      return involved.length === 1 ? involved[0]! : inSeries(involved)
    },

    /** The worst of all. */
    state(): BreakerState {
      const states = [...troubled].map(({ breaker }) => breaker.state)
      return states.includes('open') ? 'open' : (states[0] ?? 'closed')
    },

    /** All of them may be back. */
    mayBeBack() {
      for (const { breaker } of troubled) breaker.mayBeBack()
    },

    /** The longest of all. */
    waitMs: () => Math.max(0, ...[...troubled].map(({ breaker }) => breaker.waitMs())),
  }
}

interface Part {
  readonly name: string | undefined
  readonly breaker: Breaker
  isAsked: boolean
}

const FORGOTTEN_AFTER_MS = 10_000

/** For one call that needs several parts: all must give leave. */
function inSeries(breakers: readonly Breaker[]): Circuit {
  let leaves: number[] = []
  let answersBefore: number[] = []
  return {
    ask() {
      answersBefore = breakers.map((breaker) => breaker.answers)
      leaves = breakers.map((breaker) => breaker.ask())
      if (!leaves.includes(NO_LEAVE)) return 0
      for (const [i, breaker] of breakers.entries()) {
        if (leaves[i] !== NO_LEAVE) breaker.cameToNothing(leaves[i]!)
      }
      return NO_LEAVE
    },
    answered() {
      for (const [i, breaker] of breakers.entries()) breaker.answered(leaves[i]!)
    },
    /** Nobody says which part it was: not one that has answered others meanwhile. */
    failed(_leave, error) {
      const suspects = breakers.filter((breaker, i) => breaker.answers === answersBefore[i])
      const blamed = suspects.length > 0 ? suspects : breakers
      for (const [i, breaker] of breakers.entries()) {
        if (blamed.includes(breaker)) breaker.failed(leaves[i]!, error)
        else breaker.cameToNothing(leaves[i]!)
      }
    },
    cameToNothing() {
      for (const [i, breaker] of breakers.entries()) breaker.cameToNothing(leaves[i]!)
    },
  }
}
