/**
 * The value of each line of a header, including names such as `X_User_Id`, because CGI servers map them to the same variable,
 * HTTP_X_USER_ID. `name` and the excluded names are in lower case.
 */
export function headerLines(
  rawHeaders: readonly string[],
  name: string,
  excluded?: ReadonlySet<string>,
): readonly string[] {
  const lines: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const other = rawHeaders[i]!
    if (isSameToCgi(other, name) && !excluded?.has(other.toLowerCase())) lines.push(rawHeaders[i + 1]!)
  }
  return lines
}

function isSameToCgi(name: string, other: string): boolean {
  return name.length === other.length && cgiName(name) === cgiName(other)
}

function cgiName(name: string): string {
  return name.toLowerCase().replace(/[^a-z\d]/g, '_')
}
