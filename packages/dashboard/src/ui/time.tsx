import { duration, instant, relative, utc, viewerZone, wall } from '../lib/format.js'
import { useNow, useShared } from '../lib/hooks.js'

/** An instant in the zone that the viewer chose; the others are in its tooltip. */
export function Time({
  at,
  zone,
  withRelative = false,
  ahead = false,
}: {
  at: string
  zone?: string
  withRelative?: boolean
  /** It is expected: once its time has come it is due, not past. */
  ahead?: boolean
}) {
  const { zone: choice } = useShared()
  const time = useNow(withRelative ? 1_000 : 30_000)
  const ms = Date.parse(at)
  const shown = zoneFor(choice, zone)
  return (
    <>
      <time dateTime={at} title={tooltip(ms, zone)}>
        {instant(ms, shown, time)}
      </time>
      {withRelative && <span className="aside"> {ahead && ms <= time ? 'due' : relative(ms, time)}</span>}
    </>
  )
}

/** "3 m ago", with the instants in its tooltip. */
export function Ago({ at, zone }: { at: string; zone?: string }) {
  const ms = Date.parse(at)
  return (
    <time dateTime={at} title={tooltip(ms, zone)}>
      {relative(ms, useNow())}
    </time>
  )
}

export function zoneFor(choice: string, jobZone: string | undefined): string {
  if (choice === 'utc') return 'UTC'
  return choice === 'job' && jobZone !== undefined ? jobZone : viewerZone()
}

function tooltip(ms: number, zone: string | undefined): string {
  const lines = [`UTC  ${utc(ms)}`, `You  ${said(ms, viewerZone())}`]
  if (zone !== undefined) lines.push(`Job  ${said(ms, zone)}`)
  return lines.join('\n')
}

function said(ms: number, zone: string): string {
  const { weekday, date, time, offset } = wall(ms, zone)
  return `${weekday} ${date} ${time} ${offset} ${zone}`
}

export function Lag({ ms }: { ms: number | null }) {
  return <>{ms === null ? '–' : duration(ms)}</>
}
