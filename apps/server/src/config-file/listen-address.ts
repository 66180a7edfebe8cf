/** Parses an address to listen on: `8000`, `127.0.0.1:8000`, `[::1]:8000` or `localhost:8000`. */
export function parseListenAddress(text: string): { host: string | undefined; port: number } | undefined {
  const match = /^(?:(\[[\da-f:.]{2,45}\]|[\w.-]{1,253}):)?(\d{1,5})$/i.exec(text)
  if (match === null || Number(match[2]) > 65_535) return undefined
  return { host: match[1]?.replace(/^\[|\]$/g, ''), port: Number(match[2]) }
}
