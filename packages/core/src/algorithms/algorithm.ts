import type { Decision } from '../decision.js'
import type { Policy } from '../policy.js'
import type { Rows } from './rows.js'

/**
 * One algorithm: functions of a policy, a state, a time and a cost. They read no clock and no store;
 * all numbers are whole, times are microseconds.
 *
 * A state is a row of numbers, and it is changed in place: to make an object for every check is most of
 * what a check would cost. `decide.ts` has the same as pure functions of plain states.
 *
 * `decide` goes through the same steps in every algorithm, and in its Lua twin:
 *
 *   1. the clock      as of which moment to decide, and whether the state comes from another clock
 *   2. the state now  what is left of it at that moment
 *   3. the decision   how much room there is; a cost that fits is taken
 *   4. the new state  written only if something was taken, or moved from another clock
 *   5. the waits      until this cost fits, until the whole limit is there again
 *
 * A state carries what it was counted in (a window's length, a level's unit), so that a policy with other
 * numbers can read it. It goes over to the new numbers when it is next charged; until then a window of
 * another length keeps running, and the waits say so. A store lets go of a state when the numbers that wrote
 * it say so: after a change of numbers that may be sooner than the waits say, never later.
 */
export interface Algorithm<P extends Policy, S> {
  /** Decides a cost of 1 to the limit. A row of zeros without an object is an untouched key's. */
  decide(policy: P, rows: Rows, row: number, now: number, cost: number, mode: Mode): Decision
  /**
   * What `decideRow` answers and writes in mode `take`, and it may just call that. Where speed matters it answers by
   * itself what nearly every check is, a cost that fits into a state that was counted in the policy's own window or
   * unit, and calls `decideRow` for all else. It asks whether all is right, not whether anything is wrong: of a time
   * that is no number neither is true, and it must not get into the row.
   *
   * Short, and with next to no calls: V8 compiles a check into the loop or the handler that makes it if all of it comes
   * to no more than some 760 bytes of bytecode, and no function to more than 460 (`inlining.test.ts`). Until something
   * is refused, an answer of which only `allowed` is read is then not even made.
   */
  check(policy: P, rows: Rows, row: number, now: number, cost: number): Decision
  /** Gives back up to `cost` units that were taken at `decidedAt`, if that moment still counts; says how many. */
  refund(policy: P, rows: Rows, row: number, now: number, decidedAt: number, cost: number): number
  /** The row as a plain object. */
  load(rows: Rows, row: number): S
  save(state: S, rows: Rows, row: number): void
}

/**
 * `take`: charge it if it fits. `peek`: change nothing. `repair`: charge nothing, but bring a state from
 * another clock over to this one: what a refusal does to the limits that did not refuse.
 */
export type Mode = 'take' | 'peek' | 'repair'

/**
 * Time never runs backwards for a key. Where `now` is before the newest moment the state speaks of, by at
 * most `span`, the decision is made as of that moment. If by more, the state was written under another
 * clock: it is made as of now, and the state, which is still ahead, must be moved first.
 */
export function asOf(newest: number, now: number, span: number): number {
  return newest > now && newest - now <= span ? newest : now
}
