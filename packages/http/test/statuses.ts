/** The statuses of requests for these paths, sent one after another. */
export async function statusesOf(url: string, paths: readonly string[]): Promise<number[]> {
  const statuses: number[] = []
  for (const path of paths) {
    const response = await fetch(`${url}${path}`)
    await response.text()
    statuses.push(response.status)
  }
  return statuses
}
