const longestMs = 24 * 60 * 60 * 1000

/** Reads a Retry-After header (RFC 9110: seconds or an HTTP date) as a wait of at most a day from `now`. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, longestMs)
  const instant = httpDate(text)
  return instant === undefined ? undefined : Math.min(Math.max(instant - now, 0), longestMs)
}

/** The three forms of RFC 9110. Date.parse alone would read a date into nearly anything. */
function httpDate(text: string): number | undefined {
  const day = '(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?'
  const withZone = new RegExp(`^${day}, \\d{2}[ -][A-Z][a-z]{2}[ -]\\d{2,4} \\d{2}:\\d{2}:\\d{2} GMT$`)
  const asctime = new RegExp(`^${day} [A-Z][a-z]{2} [ \\d]\\d \\d{2}:\\d{2}:\\d{2} \\d{4}$`)
  // An asctime date names no zone but is in UTC.
  const full = withZone.test(text) ? text : asctime.test(text) ? `${text} GMT` : undefined
  if (full === undefined) return undefined
  const instant = Date.parse(full)
  return Number.isNaN(instant) ? undefined : instant
}
