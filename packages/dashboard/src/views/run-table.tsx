import type { Job, Run } from '@carillon/contract'
import { useCallback } from 'react'
import { brief, plural } from '../lib/format.js'
import { useJobNames } from '../lib/job-names.js'
import { reasonText } from '../lib/ledger.js'
import { to } from '../lib/location.js'
import { Link, navigate } from '../lib/router.js'
import { useRowKeys } from '../lib/rows.js'
import { Columns } from '../ui/columns.js'
import { RunStatusMark } from '../ui/status.js'
import { Ago, Lag, Time } from '../ui/time.js'

interface RunTableProps {
  rows: readonly Run[]
  caption: string
  /** All are of this job: its name is said elsewhere, and its clocks are those of the ticks. */
  job?: Job
}

/** Runs, one a row, in the order that they come in. */
export function RunTable({ rows, caption, job }: RunTableProps) {
  const nameOf = useJobNames(job === undefined ? rows.map(({ job_id: id }) => id) : [])
  const open = useCallback((id: string) => navigate(to.run(id)), [])
  const keys = useRowKeys(
    rows.map(({ run_id: id }) => id),
    open,
  )
  const numbers = [{ number: 'Started after' }, { number: 'Took' }, { number: 'Attempt' }]
  return (
    <div className="frame">
      <table className="grid">
        <caption className="unseen">{caption}</caption>
        <Columns
          of={[
            'Status',
            ...(job === undefined ? ['Job'] : []),
            'Tick',
            ...numbers,
            'Error or reason',
            'When',
          ]}
        />
        <tbody>
          {rows.map((run, index) => (
            <tr key={run.run_id} data-at={index === keys.at}>
              <td>
                <RunStatusMark status={run.status} />
                {run.catch_up && <span className="aside"> caught up</span>}
              </td>
              {job === undefined && (
                <td className="cut">
                  <Link href={to.job(run.job_id)}>{nameOf(run.job_id)}</Link>
                </td>
              )}
              <TickCell run={run} zone={job?.timezone} />
              <td className="number">
                <Lag ms={startedAfter(run)} />
              </td>
              <td className="number">
                <Lag ms={run.duration_ms} />
              </td>
              <td className="number">
                {run.attempt}
                {run.max_attempts !== null && <span className="aside"> of {run.max_attempts}</span>}
              </td>
              <td className="cut" title={run.error ?? ''}>
                {run.error !== null ? brief(run.error) : run.reason === null ? '' : reasonText(run.reason)}
              </td>
              <td className="nowrap aside">
                <Ago at={run.finished_at ?? run.started_at ?? run.scheduled_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function startedAfter({ started_at: started, scheduled_at: due }: Run): number | null {
  return started === null ? null : Date.parse(started) - Date.parse(due)
}

function TickCell({ run, zone }: { run: Run; zone: string | undefined }) {
  const inZone = zone === undefined ? {} : { zone }
  return (
    <td className="nowrap">
      <Link className="name" href={to.run(run.run_id)}>
        <Time at={run.scheduled_at} {...inZone} />
      </Link>
      {run.skipped_until !== null && (
        <span className="aside">
          {' '}
          {plural(run.skipped_count ?? 1, 'tick')} until <Time at={run.skipped_until} {...inZone} />
        </span>
      )}
    </td>
  )
}
