import type { Why } from '@carillon/sdk'
import { dayOrMomentOf, momentOf, secondsOf } from './moments.js'
import { localTime } from './output/time.js'

type Ask = (at: string) => Promise<Why>

/**
 * What became of the tick that a person means: of the latest one where nothing is said, or so long ago ("2m"); of the
 * latest "09:21" on the clocks of the job; or of the very instant that is given.
 */
export async function whyOf(at: string | undefined, now: Date, ask: Ask): Promise<Why> {
  const given = at?.trim() ?? 'now'
  if (given === 'now' || secondsOf(given) !== null) return latestBefore(momentOf(given, now), ask)
  const clock = /^(\d{1,2}):(\d{2}(?::\d{2})?)$/.exec(given)
  if (clock === null) return ask(dayOrMomentOf(given, now))
  const { timezone } = await ask(now.toISOString())
  const time = `${(clock[1] ?? '').padStart(2, '0')}:${clock[2] ?? ''}`
  const today = localTime(now, timezone)
  const date = time.padEnd(8, ':00') > today.slice(11) ? dayBefore(today.slice(0, 10)) : today.slice(0, 10)
  return ask(`${date}T${time}`)
}

async function latestBefore(instant: string, ask: Ask): Promise<Why> {
  const why = await ask(instant)
  return why.verdict === 'no_tick' && why.before !== null ? ask(why.before) : why
}

function dayBefore(date: string): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10)
}
