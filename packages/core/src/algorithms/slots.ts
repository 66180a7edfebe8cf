/**
 * The slots of one key: a map by id and a doubly linked list by expiry. Finding, adding and removing a slot take constant
 * time. Slots change in place. The list stays ordered because a slot is always added or renewed with the latest expiry.
 */
export interface Slots {
  readonly byId: Map<string, Slot>
  oldest: Slot | undefined
  newest: Slot | undefined
}

interface Slot {
  readonly id: string
  expiresAt: number
  older: Slot | undefined
  newer: Slot | undefined
}

export function createSlots(): Slots {
  return { byId: new Map(), oldest: undefined, newest: undefined }
}

/** When the slot expires; 0 if there is none with this id. */
export function expiryOf({ byId }: Slots, id: string): number {
  return byId.get(id)?.expiresAt ?? 0
}

/** The number of slots that expire at `time` or earlier. */
export function countUntil({ oldest }: Slots, time: number): number {
  let count = 0
  for (let slot = oldest; slot !== undefined && slot.expiresAt <= time; slot = slot.newer) count++
  return count
}

/** When the `number`th oldest slot expires. There must be at least `number` slots. */
export function nthExpiry({ oldest }: Slots, number: number): number {
  let slot = oldest
  for (let i = 1; i < number; i++) slot = slot!.newer
  return slot!.expiresAt
}

/** Adds a slot, or renews the slot with this id. No other slot can expire later. */
export function put(slots: Slots, id: string, expiresAt: number): void {
  remove(slots, id)
  const slot: Slot = { id, expiresAt, older: slots.newest, newer: undefined }
  if (slots.newest === undefined) slots.oldest = slot
  else slots.newest.newer = slot
  slots.newest = slot
  slots.byId.set(id, slot)
}

export function remove(slots: Slots, id: string): void {
  const slot = slots.byId.get(id)
  if (slot === undefined) return
  slots.byId.delete(id)
  if (slot.older === undefined) slots.oldest = slot.newer
  else slot.older.newer = slot.newer
  if (slot.newer === undefined) slots.newest = slot.older
  else slot.newer.older = slot.older
}

/** Removes the slots that expire at `time` or earlier. */
export function removeUntil(slots: Slots, time: number): void {
  while (slots.oldest !== undefined && slots.oldest.expiresAt <= time) remove(slots, slots.oldest.id)
}

/** Lowers every later expiry to `time`. */
export function cutTo({ newest }: Slots, time: number): void {
  for (let slot = newest; slot !== undefined && slot.expiresAt > time; slot = slot.older)
    slot.expiresAt = time
}
