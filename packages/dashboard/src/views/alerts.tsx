import type { Alert, AlertState } from '@carillon/contract'
import { useState } from 'react'
import { count, json } from '../lib/format.js'
import { useAction, useQuery, useShared } from '../lib/hooks.js'
import { to } from '../lib/location.js'
import { Link, setParams, useParam } from '../lib/router.js'
import { Button, Code, Empty, ErrorNote, PageHead, Skeleton } from '../ui/pieces.js'
import { Status } from '../ui/status.js'
import { Ago } from '../ui/time.js'
import { Channels } from './alert-channels.js'
import { Rules } from './alert-rules.js'
import { SilenceDialog, Silences } from './alert-silences.js'
import { Pager } from './jobs.js'

const states = ['firing', 'silenced', 'resolved'] as const

/** What people should know: what fires now first. Below: what is silenced, what raises an alert, and where it is told. */
export default function Alerts() {
  const { api } = useShared()
  const [state] = useParam('state')
  const [cursor] = useParam('cursor')
  const shown = states.find((one) => one === state) ?? 'firing'
  const alerts = useQuery(
    `alerts ${shown} ${cursor}`,
    () => api.alerts.list({ state: shown, limit: 50, ...(cursor !== '' && { cursor }) }),
    { every: 5_000 },
  )
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
      {alerts.data !== undefined && rows.length === 0 && <NoAlerts shown={shown} />}
      {rows.length > 0 && <AlertList rows={rows} onChange={alerts.reload} />}
      <Pager next={alerts.data?.next_cursor ?? null} shown={rows.length} />
      <Silences onChange={alerts.reload} />
      <Rules />
      <Channels />
    </>
  )
}

function NoAlerts({ shown }: { shown: AlertState }) {
  return <Empty icon="bell" title={shown === 'firing' ? 'Nothing fires.' : `Nothing is ${shown}.`} />
}

function AlertList({ rows, onChange }: { rows: readonly Alert[]; onChange: () => void }) {
  const { api, mayWrite } = useShared()
  const action = useAction()
  const [silence, setSilence] = useState<Alert | null>(null)
  const resolve = async (alert: Alert) => {
    if (await action.run(() => api.alerts.resolve(alert.alert_id), 'Resolved')) onChange()
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
            <AlertWords alert={alert} />
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
        <SilenceDialog
          kind={silence.kind}
          {...(silence.job_id !== null && { jobId: silence.job_id })}
          about={silence.job_name ?? 'of every job'}
          onClose={() => setSilence(null)}
          onDone={onChange}
        />
      )}
    </>
  )
}

/** Of some the subject is a name alone: what is the matter with it is its kind. */
function titleOf({ subject, kind }: Alert): string {
  return /\s/.test(subject) ? subject : `${subject}: ${kind.replaceAll('_', ' ')}`
}

function AlertWords({ alert }: { alert: Alert }) {
  return (
    <div className="group-words">
      <strong>{titleOf(alert)}</strong>
      <p className="aside">
        <code>{alert.kind}</code> · {alert.summary}
        {alert.job_id !== null && (
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
        {alert.resolved_by !== null && ` · resolved by ${alert.resolved_by}`} · runbook {alert.runbook}
      </p>
      <details>
        <summary>Detail</summary>
        <Code text={json(alert.detail)} label="Detail" />
      </details>
    </div>
  )
}
