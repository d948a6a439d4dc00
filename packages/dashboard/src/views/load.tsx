import type { LoadForecast, LoadSuggestion } from '@carillon/contract'
import { useState } from 'react'
import { count, plural, scheduleText, short, wall } from '../lib/format.js'
import { useQuery, useShared } from '../lib/hooks.js'
import { heatRows, levelOf } from '../lib/heat.js'
import { to } from '../lib/location.js'
import { Link, setParams, useParam } from '../lib/router.js'
import type { Suggestion } from '../lib/spread.js'
import { Button, Empty, ErrorNote, Note, PageHead, Panel, Skeleton } from '../ui/pieces.js'
import { Status } from '../ui/status.js'
import { Time, zoneFor } from '../ui/time.js'
import { SpreadDialog } from './spread.js'

/** What is coming: seven days by the hour, an hour by the minute, the hottest seconds by name, and what jitter would do. */
export default function Load() {
  const { api, zone: choice } = useShared()
  const zone = zoneFor(choice, undefined)
  const [hour] = useParam('hour')
  const [tag, setTag] = useParam('tag')
  const of = tag === '' ? {} : { tag }
  const forecast = useQuery(`forecast ${tag}`, () => api.load.forecast({ by: 'hour', ...of }), {
    every: 60_000,
  })
  const sum = forecast.data?.buckets.reduce((total, { firings }) => total + firings, 0) ?? 0
  return (
    <>
      <PageHead
        title="Load"
        below={
          forecast.data !== undefined && (
            <p className="quiet">
              {count(sum)} firings of {plural(forecast.data.jobs, 'active job')} in the next 7 days, by the
              clocks of {zone}
              {forecast.data.sampled && '. Estimated from a part of the jobs'}
            </p>
          )
        }
      />
      <div className="facets">
        <label className="inline">
          <span>Only jobs with the tag</span>
          <input
            key={tag}
            defaultValue={tag}
            placeholder="then Enter"
            onKeyDown={(event) => {
              if (event.key === 'Enter') setTag(event.currentTarget.value.trim())
            }}
          />
        </label>
      </div>
      {forecast.error !== null && <ErrorNote error={forecast.error} onRetry={forecast.reload} />}
      {forecast.loading && <Skeleton rows={8} />}
      {forecast.data !== undefined && sum === 0 && (
        <Empty icon="load" title="Nothing is ahead.">
          <p className="quiet">No active job has a tick in the next seven days.</p>
        </Empty>
      )}
      {forecast.data !== undefined && sum > 0 && (
        <>
          <Heatmap forecast={forecast.data} zone={zone} chosen={hour} />
          {hour !== '' && <HourPanel hour={hour} zone={zone} tag={tag} />}
          <div className="two">
            <Hottest hottest={forecast.data.hottest} />
            <Suggestions onSpread={forecast.reload} />
          </div>
        </>
      )}
    </>
  )
}

const hoursOfDay = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0'))

function Heatmap({ forecast, zone, chosen }: { forecast: LoadForecast; zone: string; chosen: string }) {
  const rows = heatRows(forecast.buckets, zone)
  return (
    <Panel title="Next 7 days" aside="firings an hour; choose one to see its minutes">
      <div className="frame">
        <table className="heat">
          <caption className="unseen">Firings by day and hour</caption>
          <thead>
            <tr>
              <th scope="col">
                <span className="unseen">Day</span>
              </th>
              {hoursOfDay.map((hour) => (
                <th key={hour} scope="col">
                  {hour}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ day, weekday, hours }) => (
              <tr key={day}>
                <th scope="row">
                  {weekday} <span className="aside">{day.slice(5)}</span>
                </th>
                {hours.map((cell, hour) => (
                  <td key={hoursOfDay[hour]}>
                    {cell !== null && (
                      <button
                        type="button"
                        className={`heat-cell h${cell.level}`}
                        aria-pressed={cell.at === chosen}
                        aria-label={`${cell.firings === 0 ? 'no' : short(cell.firings)} firings, ${weekday} ${day} ${hoursOfDay[hour] ?? ''}:00`}
                        title={`${weekday} ${day} ${hoursOfDay[hour] ?? ''}:00\n${plural(cell.firings, 'firing')}`}
                        onClick={() => setParams({ hour: cell.at === chosen ? null : cell.at })}
                      >
                        {cell.firings === 0 ? '' : short(cell.firings)}
                      </button>
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}

function HourPanel({ hour, zone, tag }: { hour: string; zone: string; tag: string }) {
  const { api } = useShared()
  const minutes = useQuery(`minutes ${hour} ${tag}`, () =>
    api.load.forecast({ by: 'minute', from: hour, ...(tag !== '' && { tag }) }),
  )
  const start = Date.parse(hour)
  const within = (at: string) => Date.parse(at) >= start && Date.parse(at) < start + 3_600_000
  const buckets = minutes.data?.buckets.filter(({ at }) => within(at)) ?? []
  const most = Math.max(0, ...buckets.map(({ firings }) => firings))
  const hot = minutes.data?.hottest.filter(({ at }) => within(at)) ?? []
  const { weekday, date, time } = wall(start, zone)
  return (
    <Panel
      title={`${weekday} ${date} ${time.slice(0, 5)}`}
      aside={`firings a minute, at most ${short(most)}`}
      actions={
        <Button
          look="bare"
          icon="cross"
          aria-label="Close the hour"
          onClick={() => setParams({ hour: null })}
        />
      }
    >
      {minutes.loading && <Skeleton rows={2} />}
      {minutes.error !== null && <ErrorNote error={minutes.error} />}
      <ul className="minutes">
        {buckets.map(({ at, firings }) => {
          const clock = wall(Date.parse(at), zone).time.slice(0, 5)
          const height = most === 0 ? 0 : Math.max((firings / most) * 100, firings > 0 ? 3 : 0)
          return (
            <li key={at} title={`${clock}: ${plural(firings, 'firing')}`}>
              <span className={`minute-bar h${levelOf(firings, most)}`} style={{ height: `${height}%` }} />
              <span className="unseen">
                {clock} {plural(firings, 'firing')}
              </span>
            </li>
          )
        })}
      </ul>
      <div className="minute-foot aside">
        <span>:00</span>
        <span>:15</span>
        <span>:30</span>
        <span>:45</span>
        <span>:59</span>
      </div>
      {hot.length > 0 && (
        <p>
          Hottest second of this hour: <Time at={hot[0]?.at ?? hour} />,{' '}
          {plural(hot[0]?.firings ?? 0, 'firing')}.
        </p>
      )}
    </Panel>
  )
}

function Hottest({ hottest }: { hottest: LoadForecast['hottest'] }) {
  return (
    <Panel title="Hottest seconds" aside="most ticks at once">
      {hottest.length === 0 && <p className="quiet">No second stands out.</p>}
      <ol className="hot">
        {hottest.slice(0, 8).map(({ at, firings, sample }) => (
          <li key={at}>
            <strong>{count(firings)}</strong> at <Time at={at} />
            <span className="aside">
              {sample.slice(0, 3).map(({ job_id: id, name }, index) => (
                <span key={id}>
                  {index > 0 && ', '}
                  <Link href={to.job(id)}>{name}</Link>
                </span>
              ))}
              {firings > 3 && ' …'}
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  )
}

function Suggestions({ onSpread }: { onSpread: () => void }) {
  const { api } = useShared()
  const suggestion = useQuery('suggestion', () => api.load.suggestion())
  const [chosen, setChosen] = useState<Suggestion | null>(null)
  // The forecast is computed once a minute: until then it does not show what was done.
  const [applied, setApplied] = useState<readonly string[]>([])
  const done = () => {
    if (chosen !== null) setApplied([...applied, keyOf(chosen)])
    suggestion.reload()
    onSpread()
  }
  return (
    <Panel title="What jitter would do" aside="hottest seconds of the next 24 hours">
      {suggestion.loading && <Skeleton rows={3} />}
      {suggestion.error !== null && <ErrorNote error={suggestion.error} />}
      {suggestion.data !== undefined && (
        <SuggestionList suggestion={suggestion.data} applied={applied} onApply={setChosen} />
      )}
      {chosen !== null && <SpreadDialog suggestion={chosen} onClose={() => setChosen(null)} onDone={done} />}
    </Panel>
  )
}

const keyOf = ({ schedule, timezone }: Suggestion) => JSON.stringify([schedule, timezone])

function SuggestionList({
  suggestion,
  applied,
  onApply,
}: {
  suggestion: LoadSuggestion
  applied: readonly string[]
  onApply: (one: Suggestion) => void
}) {
  const { mayWrite } = useShared()
  if (suggestion.suggestions.length === 0) return <Note kind="good">No second is hot enough to spread.</Note>
  return (
    <>
      <p className="before-after">
        Peak <strong>{count(suggestion.peak_before)}</strong> →{' '}
        <strong>{count(suggestion.peak_after)}</strong> ticks in one second, if all is followed.
      </p>
      <ul className="plain suggestions">
        {suggestion.suggestions.map((one) => (
          <li key={keyOf(one)}>
            <div className="line">
              <span>
                <strong>{plural(one.jobs, 'job')}</strong> at <code>{scheduleText(one.schedule)}</code>{' '}
                <span className="aside">{one.timezone}</span>: jitter <strong>{one.jitter_seconds} s</strong>
              </span>
              <span className="spring" />
              {applied.includes(keyOf(one)) ? (
                <Status state="done" words="applied; the forecast follows within a minute" />
              ) : (
                mayWrite && <Button onClick={() => onApply(one)}>Apply…</Button>
              )}
            </div>
            <BeforeAfter before={one.before} after={one.after} />
            <p className="aside">
              {one.sample.slice(0, 3).map(({ job_id: id, name }) => (
                <Link key={id} href={to.job(id)}>
                  {name}{' '}
                </Link>
              ))}
            </p>
          </li>
        ))}
      </ul>
    </>
  )
}

function BeforeAfter({ before, after }: { before: number; after: number }) {
  return (
    <div
      className="bars"
      role="img"
      aria-label={`${before} ticks in the hottest second before, ${after} after`}
    >
      <span className="bar failed" style={{ width: '100%' }}>
        {count(before)} before
      </span>
      <span className="bar-line">
        <span
          className="bar success"
          style={{ width: `${Math.max(2, (after / Math.max(before, 1)) * 100)}%` }}
        />
        {count(after)} after
      </span>
    </div>
  )
}
