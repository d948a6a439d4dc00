import type { Event } from '@carillon/contract'
import { useState } from 'react'
import { type Alert, alertCalls } from '../lib/alerts.js'
import { now } from '../lib/clock.js'
import { count, json } from '../lib/format.js'
import { useAction, useQuery, useShared } from '../lib/hooks.js'
import { to } from '../lib/location.js'
import { Link, setParams, useParam } from '../lib/router.js'
import { isMissingRoute } from '../lib/session.js'
import { Ask } from '../ui/dialog.js'
import { TextField } from '../ui/field.js'
import { Button, Code, Empty, ErrorNote, PageHead, Skeleton } from '../ui/pieces.js'
import { Status } from '../ui/status.js'
import { Ago, Time } from '../ui/time.js'
import { Channels, Rules, Silences } from './alert-settings.js'
import { Pager } from './jobs.js'

const states = ['firing', 'silenced', 'resolved'] as const

/** What people should know: what fires now first. A server without alerts shows its raw events. */
export default function Alerts() {
  const [state] = useParam('state')
  const [cursor] = useParam('cursor')
  const shown = state === '' ? 'firing' : state
  const alerts = useQuery(`alerts ${shown} ${cursor}`, () => alertCalls.list(shown, cursor), { every: 5_000 })
  if (isMissingRoute(alerts.error)) return <Events />
  const rows = alerts.data?.data ?? []
  return (
    <>
      <PageHead title="Alerts" />
      <div className="facets">
        <div className="segmented" role="group" aria-label="State">
          {states.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={shown === one}
              onClick={() => setParams({ state: one, cursor: null })}
            >
              {one}
            </button>
          ))}
        </div>
      </div>
      {alerts.error !== null && <ErrorNote error={alerts.error} onRetry={alerts.reload} />}
      {alerts.loading && <Skeleton rows={6} />}
      {alerts.data !== undefined && rows.length === 0 && (
        <Empty icon="bell" title={shown === 'firing' ? 'Nothing fires.' : `Nothing is ${shown}.`} />
      )}
      {rows.length > 0 && <AlertList rows={rows} onChange={alerts.reload} />}
      <Pager next={alerts.data?.next_cursor ?? null} shown={rows.length} />
      {alerts.data !== undefined && (
        <>
          <Silences />
          <Rules />
          <Channels />
        </>
      )}
    </>
  )
}

function AlertList({ rows, onChange }: { rows: readonly Alert[]; onChange: () => void }) {
  const { mayWrite } = useShared()
  const action = useAction()
  const [silence, setSilence] = useState<Alert | null>(null)
  const resolve = async (alert: Alert) => {
    if (await action.run(() => alertCalls.resolve(alert.alert_id), 'Resolved')) onChange()
  }
  return (
    <>
      {action.error !== null && <ErrorNote error={action.error} />}
      <ul className="groups">
        {rows.map((alert) => (
          <li key={alert.alert_id} className="group">
            <span className="group-state">
              <Status state={alert.severity} />
            </span>
            <div className="group-words">
              <strong>{alert.subject}</strong>
              <p className="aside">
                <code>{alert.kind}</code> · {alert.summary}
                {alert.job_id != null && (
                  <>
                    {' '}
                    · <Link href={to.job(alert.job_id)}>{alert.job_name ?? alert.job_id}</Link>
                  </>
                )}{' '}
                · since <Ago at={alert.starts_at} /> · seen {count(alert.count)}×, last{' '}
                <Ago at={alert.last_seen_at} />
                {alert.ends_at !== null && (
                  <>
                    {' '}
                    · over <Ago at={alert.ends_at} />
                  </>
                )}
                {alert.runbook != null && ` · runbook ${alert.runbook}`}
              </p>
              <details>
                <summary>Detail</summary>
                <Code text={json(alert.detail)} label="Detail" />
              </details>
            </div>
            {mayWrite && alert.state === 'firing' && (
              <div className="row-actions">
                <Button onClick={() => setSilence(alert)}>Silence</Button>
                <Button disabled={action.busy} onClick={() => void resolve(alert)}>
                  Resolve
                </Button>
              </div>
            )}
          </li>
        ))}
      </ul>
      {silence !== null && (
        <SilenceDialog alert={silence} onClose={() => setSilence(null)} onDone={onChange} />
      )}
    </>
  )
}

function SilenceDialog({
  alert,
  onClose,
  onDone,
}: {
  alert: Alert
  onClose: () => void
  onDone: () => void
}) {
  const action = useAction()
  const [hours, setHours] = useState('4')
  const [reason, setReason] = useState('')
  const until = new Date(now() + (Number(hours) || 1) * 3_600_000).toISOString()
  const submit = async () => {
    const work = () =>
      alertCalls.silence({
        kind: alert.kind,
        ...(alert.job_id != null && { job_id: alert.job_id }),
        until,
        reason,
      })
    if (!(await action.run(work, 'Silenced'))) return
    onClose()
    onDone()
  }
  return (
    <Ask
      title="Silence"
      action={action}
      confirm="Silence"
      disabled={reason.trim() === ''}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <p>
        <code>{alert.kind}</code> {alert.job_name ?? 'of every job'}, until <Time at={until} />
      </p>
      <TextField label="Hours" value={hours} onChange={setHours} />
      <TextField
        label="Reason"
        value={reason}
        onChange={setReason}
        autoFocus
        hint="Whoever misses the alert reads this"
      />
    </Ask>
  )
}

function Events() {
  const { api } = useShared()
  const [state] = useParam('state')
  const all = state === 'all'
  const events = useQuery(`events ${state}`, () => api.events({ state: all ? 'all' : 'open', limit: 100 }), {
    every: 5_000,
  })
  return (
    <>
      <PageHead
        title="Alerts"
        below={
          <p className="quiet">
            Events that operators should know of, from when they were found until they were over.
          </p>
        }
      />
      <div className="facets">
        <div className="segmented" role="group" aria-label="State">
          <button type="button" aria-pressed={!all} onClick={() => setParams({ state: null })}>
            going on
          </button>
          <button type="button" aria-pressed={all} onClick={() => setParams({ state: 'all' })}>
            all
          </button>
        </div>
      </div>
      {events.error !== null && <ErrorNote error={events.error} onRetry={events.reload} />}
      {events.loading && <Skeleton rows={6} />}
      {events.data?.length === 0 && (
        <Empty icon="bell" title={all ? 'No events.' : 'Nothing goes on.'}>
          <p className="quiet">
            Overload, large catch-ups, steps of a clock: they appear here when they are found.
          </p>
        </Empty>
      )}
      {(events.data?.length ?? 0) > 0 && <EventTable rows={events.data ?? []} />}
    </>
  )
}

function EventTable({ rows }: { rows: readonly Event[] }) {
  return (
    <div className="frame">
      <table className="grid">
        <caption className="unseen">Events</caption>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Kind</th>
            <th scope="col">About</th>
            <th scope="col">Found</th>
            <th scope="col">Over</th>
            <th scope="col">Detail</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((event) => (
            <tr key={event.event}>
              <td>
                <Status
                  state={event.resolved_at === null ? 'firing' : 'resolved'}
                  words={event.resolved_at === null ? 'goes on' : 'over'}
                />
              </td>
              <td>{event.kind.replaceAll('_', ' ')}</td>
              <td>
                {/^job_/.test(event.subject) ? (
                  <Link href={to.job(event.subject)}>{event.subject}</Link>
                ) : (
                  event.subject
                )}
              </td>
              <td className="nowrap">
                <Time at={event.raised_at} withRelative />
              </td>
              <td className="nowrap">{event.resolved_at === null ? '–' : <Time at={event.resolved_at} />}</td>
              <td className="wide-cell">
                <code>{JSON.stringify(event.detail)}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
