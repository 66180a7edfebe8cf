const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const LONG_DAY = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day'
const MONTH = `(?<month>${MONTHS.join('|')})`
const TIME = '(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)'

/** RFC 9110, 5.6.7: the current format, and two obsolete ones that must still be accepted. */
const FORMS = [
  new RegExp(`^${DAY}, (?<day>\\d\\d) ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^${LONG_DAY}, (?<day>\\d\\d)-${MONTH}-(?<year>\\d\\d) ${TIME} GMT$`),
  new RegExp(`^${DAY} ${MONTH} (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`),
]

/** An HTTP date in milliseconds since the epoch. Undefined for other formats, although `Date` might accept them. */
export function parseHttpDate(text: string | null, nowMs: number): number | undefined {
  if (text === null) return undefined
  for (const form of FORMS) {
    const found = form.exec(text)?.groups
    if (found === undefined) continue
    const [day, hour, minute, second] = [found.day, found.hour, found.minute, found.second].map(Number)
    const month = MONTHS.indexOf(found.month!)
    const year = found.year!.length === 2 ? fullYear(Number(found.year), nowMs) : Number(found.year)
    const date = new Date(0)
    date.setUTCFullYear(year, month, day)
    if (date.getUTCDate() !== day || hour! > 23 || minute! > 59 || second! > 60) return undefined
    // 60 is a leap second, which becomes the first second of the next minute.
    return date.setUTCHours(hour!, minute!, second!)
  }
  return undefined
}

/** A two-digit year more than 50 years ahead belongs to the previous century. */
function fullYear(twoDigits: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + twoDigits
  return year > thisYear + 50 ? year - 100 : year
}
