import type { Backfill, Job } from '@carillon/contract'
import { count, duration } from '../lib/format.js'
import { useAction, useQuery, useShared } from '../lib/hooks.js'
import { Columns } from '../ui/columns.js'
import { Button, Empty, ErrorNote, Panel, Progress, Skeleton } from '../ui/pieces.js'
import { Status } from '../ui/status.js'
import { Ago, Time } from '../ui/time.js'

export function Backfills({ job }: { job: Job }) {
  const { api, mayWrite } = useShared()
  const action = useAction()
  const backfills = useQuery(`backfills ${job.job_id}`, () => api.jobs.backfills(job.job_id, { limit: 30 }), {
    every: 2_000,
  })
  if (backfills.loading) return <Skeleton rows={4} />
  const rows = backfills.data?.data ?? []
  const stop = async ({ backfill_id: id }: Backfill) => {
    if (await action.run(() => api.backfills.cancel(id), 'No further runs of it are made')) backfills.reload()
  }
  return (
    <>
      {backfills.error !== null && <ErrorNote error={backfills.error} />}
      {action.error !== null && <ErrorNote error={action.error} />}
      {backfills.data !== undefined && rows.length === 0 && (
        <Empty icon="retry" title="No backfill was asked for.">
          <p className="quiet">It runs ticks that have passed, by default only those that did not succeed.</p>
        </Empty>
      )}
      {rows.length > 0 && (
        <Panel title="Backfills" flush>
          <div className="frame">
            <table className="grid">
              <caption className="unseen">Backfills</caption>
              <Columns of={['State', 'From', 'To', 'Progress', 'Reason', 'Asked']} actions={mayWrite} />
              <tbody>
                {rows.map((one) => (
                  <BackfillRow
                    key={one.backfill_id}
                    one={one}
                    zone={job.timezone}
                    busy={action.busy}
                    onStop={() => void stop(one)}
                  />
                ))}
              </tbody>
            </table>
          </div>
        </Panel>
      )}
    </>
  )
}

interface RowProps {
  one: Backfill
  zone: string
  busy: boolean
  onStop: () => void
}

function BackfillRow({ one, zone, busy, onStop }: RowProps) {
  const { mayWrite } = useShared()
  return (
    <tr>
      <td>
        <Status state={one.state} />
      </td>
      <td className="nowrap">
        <Time at={one.from} zone={zone} />
      </td>
      <td className="nowrap">
        <Time at={one.to} zone={zone} />
      </td>
      <td>
        <span className="with-progress">
          <Progress done={one.done} total={one.total} label="Progress" />
          {count(one.done)} of {count(one.total)}
          {one.failed > 0 && <span className="status bad">{count(one.failed)} failed</span>}
          {one.state === 'running' && one.eta_seconds !== null && (
            <span className="aside">about {duration(one.eta_seconds * 1_000)} left</span>
          )}
        </span>
      </td>
      <td>{one.reason}</td>
      <td>
        <Ago at={one.created_at} />
      </td>
      {mayWrite && (
        <td className="row-actions">
          {(one.state === 'running' || one.state === 'paused') && (
            <Button look="danger" disabled={busy} onClick={onStop}>
              Stop
            </Button>
          )}
        </td>
      )}
    </tr>
  )
}
