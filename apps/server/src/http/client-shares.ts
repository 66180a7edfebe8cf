/** A shared resource with a maximum share per client. */
export interface ClientShares {
  /** Takes an amount for a client. Returns false if that exceeds its share or the total. Without a client, only the total counts. */
  take(client: string | undefined, amount: number): boolean
  give(client: string | undefined, amount: number): void
}

export function createClientShares({
  perClient,
  together,
}: {
  perClient: number
  together: number
}): ClientShares {
  const amounts = new Map<string, number>()
  let sum = 0

  return {
    take(client, amount) {
      if (sum + amount > together) return false
      if (client !== undefined) {
        const ofClient = (amounts.get(client) ?? 0) + amount
        if (ofClient > perClient) return false
        amounts.set(client, ofClient)
      }
      sum += amount
      return true
    },
    give(client, amount) {
      sum -= amount
      if (client === undefined) return
      const left = (amounts.get(client) ?? 0) - amount
      if (left > 0) amounts.set(client, left)
      else amounts.delete(client)
    },
  }
}
