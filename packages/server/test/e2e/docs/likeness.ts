/**
 * Pages are written as if it were this day: what they call tomorrow must be so whenever the tests run. Dates from
 * shortly before it on are moved by whole weeks, which keeps their weekdays; older ones are history and stay.
 */
const writtenOn = Date.UTC(2026, 10, 16)
const movesFrom = Date.UTC(2026, 9, 26)
const weekMs = 7 * 86_400_000

export function withDatesMoved(text: string, now: number): string {
  const by = Math.floor((now - writtenOn) / weekMs) * weekMs
  return text.replace(/\b(\d{4})-(\d{2})-(\d{2})(?=\b|T)/g, (date, year, month, day) => {
    const at = Date.UTC(Number(year), Number(month) - 1, Number(day))
    return Number.isNaN(at) || at < movesFrom ? date : new Date(at + by).toISOString().slice(0, 10)
  })
}

/** What differs from one time to the next, as a page has it, and what may stand there instead. */
const volatile: readonly [page: RegExp, printed: string][] = [
  [/\b(job|run|node|req|sgn|bf|key|op)_[0-9a-z]*…?/, '$1_[0-9a-z]+'],
  [/\s*…\s*/, '[^]*?'],
  [/:\d{10}\b/, ':\\d{10}'],
  // Milliseconds stand only where there are some.
  [
    /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(?!000)\d{3})?Z/,
    '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.(?!000)\\d{3})?Z',
  ],
  [/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/, '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d'],
  [/\((?:now|in [^)]*|[^)]* ago)\)/, '\\((?:now|in [^)]*|[^)]* ago)\\)'],
  [/\b\d+(?:\.\d+)? (?:ms|s)\b/, '\\d+(?:\\.\\d+)? (?:ms|s|min)'],
]

/** A pattern that what was printed has to match as a whole. Blank ends of lines do not count. */
export function patternOf(page: string): RegExp {
  const any = new RegExp(volatile.map(([found]) => `(?:${found.source})`).join('|'), 'g')
  const lines = withoutBlankEnds(page)
  let source = ''
  let from = 0
  for (const match of lines.matchAll(any)) {
    source += escaped(lines.slice(from, match.index)) + patternFor(match[0])
    from = match.index + match[0].length
  }
  return new RegExp(`^${source}${escaped(lines.slice(from))}$`)
}

function patternFor(text: string): string {
  for (const [found, printed] of volatile) {
    const whole = new RegExp(`^(?:${found.source})$`)
    if (whole.test(text)) return text.replace(whole, printed)
  }
  return escaped(text)
}

/** The server's log is for machines, on stderr, and no page shows it. */
export function withoutLog(printed: string): string {
  return printed.replace(/^\{"level":\d+,.*\n/gm, '')
}

export function withoutBlankEnds(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trim()
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** JSON as pages write it: `…` among the members leaves out the rest. Several values may stand below each other. */
export function jsonOfPage(text: string): unknown[] {
  const whole = text.replace(/,\s*…\s*(?=[}\]])/g, '').replace(/…\s*,/g, '')
  try {
    return [JSON.parse(whole)]
  } catch (error) {
    const lines = whole.trim().split('\n')
    if (lines.length === 1) throw error
    return lines.map((line): unknown => JSON.parse(line))
  }
}

/** Where an answer is not what the page shows. The page may leave members out, and write … in texts. */
export function unlike(page: unknown, answer: unknown, at = ''): string[] {
  if (typeof page === 'string') {
    if (typeof answer === 'string' && patternOf(page).test(withoutBlankEnds(answer))) return []
  } else if (Array.isArray(page)) {
    if (Array.isArray(answer) && page.length === answer.length)
      return page.flatMap((one, index) => unlike(one, answer[index], `${at}/${index}`))
  } else if (typeof page === 'object' && page !== null) {
    if (typeof answer === 'object' && answer !== null && !Array.isArray(answer)) {
      const members = answer as Record<string, unknown>
      return Object.entries(page).flatMap(([key, value]) =>
        key === 'fencing_token' && Number.isInteger(members[key])
          ? []
          : unlike(value, members[key], `${at}/${key}`),
      )
    }
  } else if (page === answer) return []
  return [`${at || '/'}: the page has ${JSON.stringify(page)}, the answer ${JSON.stringify(answer)}`]
}
