/** The content codings that `response-copy.ts` can decode. */
const READABLE = new Set(['gzip', 'x-gzip', 'deflate', 'br', 'identity'])

/** Removes codings that `response-copy.ts` cannot decode, such as zstd, from an Accept-Encoding. */
export function readableCodings(acceptEncoding: string): string {
  const readable = acceptEncoding
    .split(',')
    .filter((item) => READABLE.has(item.split(';', 1)[0]!.trim().toLowerCase()))
  return readable.length === 0 ? 'identity' : readable.join(',').trim()
}
