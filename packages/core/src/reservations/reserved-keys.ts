import { EndedIds } from './ended-ids.js'
import type { KeyReservations } from './in-process.js'
import { dropLapsed, emptyRecordList } from './record.js'

/**
 * The reservations of all keys of an in-process store, in bounded memory and without timers. Each call checks two keys, and
 * removes those without open reservations and remembered ids. Above `maxKeys`, the oldest keys are dropped, and nothing is
 * given back for their reservations.
 */
export class ReservedKeys {
  readonly #keys = new Map<string, KeyReservations>()
  readonly #maxKeys: number
  #cursor = this.#keys.entries()

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys
  }

  get size(): number {
    return this.#keys.size
  }

  obtain(name: string, key: string, now: number): KeyReservations {
    this.#sweep(now)
    const id = nameOf(name, key)
    let reservations = this.#keys.get(id)
    if (reservations === undefined) {
      reservations = { ...emptyRecordList(), ended: new EndedIds() }
      this.#keys.set(id, reservations)
      if (this.#keys.size > this.#maxKeys) this.#keys.delete(this.#keys.keys().next().value!)
    }
    return reservations
  }

  remove(name: string, key: string): void {
    this.#keys.delete(nameOf(name, key))
  }

  #sweep(now: number): void {
    for (let i = 0; i < SWEPT_PER_CALL; i++) {
      let next = this.#cursor.next()
      if (next.done) {
        this.#cursor = this.#keys.entries()
        next = this.#cursor.next()
        if (next.done) return
      }
      const [id, reservations] = next.value
      reservations.ended.drop(now)
      dropLapsed(reservations, now)
      if (reservations.ended.size === 0 && reservations.records.length === 0) this.#keys.delete(id)
    }
  }
}

const SWEPT_PER_CALL = 2

/** Unambiguous, because policy names have no colon. */
function nameOf(name: string, key: string): string {
  return `${name}:${key}`
}
