import type { Run, RunListQuery, RunStatus } from '@carillon/contract'
import { useCallback } from 'react'
import { useQuery, useShared } from '../lib/hooks.js'
import { useJobNames } from '../lib/job-names.js'
import { reasonText } from '../lib/ledger.js'
import { merged, useLiveRuns } from '../lib/live.js'
import { to } from '../lib/location.js'
import { Link, navigate, setParams, useParam } from '../lib/router.js'
import { useRowKeys } from '../lib/rows.js'
import { Button, Empty, ErrorNote, Note, PageHead, Skeleton } from '../ui/pieces.js'
import { RunStatusMark } from '../ui/status.js'
import { Ago, Lag, Time } from '../ui/time.js'
import { Pager } from './jobs.js'

const statuses = ['', 'running', 'pending', 'success', 'failed', 'dead', 'skipped', 'cancelled'] as const
const pageSize = 50

/** Runs of all jobs. Live: what begins and ends appears by itself; a page further back stands still. */
export function RunsList() {
  const { api } = useShared()
  const [status] = useParam('status')
  const [jobId] = useParam('job')
  const [cursor] = useParam('cursor')
  const [paused, setPaused] = useParam('paused')
  const live = cursor === '' && paused === ''
  const query: RunListQuery & { cursor?: string } = {
    limit: pageSize,
    ...(status !== '' && { status: status as RunStatus }),
    ...(jobId !== '' && { job_id: jobId }),
    ...(cursor !== '' && { cursor }),
  }
  const page = useQuery(`runs ${JSON.stringify(query)}`, () => api.runs.list(query), {
    every: live ? 5_000 : undefined,
  })
  const stream = useLiveRuns({ on: live, ...(jobId !== '' && { jobId }) })
  const listed = page.data?.data ?? []
  const fresh = live ? stream.runs.filter((run) => status === '' || run.status === status) : []
  // Newer than what the page knows, or the same run in a later state.
  const rows = live
    ? sorted(current(merged(listed, fresh.toReversed(), 2 * pageSize), stream.runs, status)).slice(
        0,
        pageSize,
      )
    : listed
  return (
    <>
      <PageHead title="Runs">
        <Button
          icon={live ? 'pause' : 'play'}
          onClick={() =>
            cursor === '' ? setPaused(paused === '' ? '1' : null) : setParams({ cursor: null })
          }
        >
          {live ? 'Hold still' : 'Follow live'}
        </Button>
      </PageHead>
      <RunFacets status={status} jobId={jobId} />
      {page.error !== null && <ErrorNote error={page.error} onRetry={page.reload} />}
      {live && stream.broken !== null && <Note kind="warn">The live stream broke and is opened again.</Note>}
      {page.loading && <Skeleton rows={12} />}
      {page.data !== undefined && rows.length === 0 && (
        <Empty
          icon="runs"
          title={page.data.next_cursor === null ? 'No run matches.' : 'None among the latest.'}
        >
          {page.data.next_cursor !== null && (
            <p className="quiet">
              Few match, and the search went back as far as it may at once. The next page goes on.
            </p>
          )}
        </Empty>
      )}
      {rows.length > 0 && <RunsTable rows={rows} />}
      <Pager next={page.data?.next_cursor ?? null} shown={rows.length} />
    </>
  )
}

/** A run that the stream has seen in another state than the one that is listed for does not belong here any more. */
function current(rows: readonly Run[], seen: readonly Run[], status: string): Run[] {
  if (status === '') return [...rows]
  const latest = new Map(seen.map((run) => [run.run_id, run.status]))
  return rows.filter(({ run_id: id }) => (latest.get(id) ?? status) === status)
}

function sorted(rows: readonly Run[]): Run[] {
  const time = (run: Run) => Date.parse(run.finished_at ?? run.started_at ?? run.scheduled_at)
  const inFlight = (run: Run) => (run.status === 'running' || run.status === 'pending' ? 1 : 0)
  return rows.toSorted((a, b) => inFlight(b) - inFlight(a) || time(b) - time(a))
}

function RunFacets({ status, jobId }: { status: string; jobId: string }) {
  const nameOf = useJobNames(jobId === '' ? [] : [jobId])
  return (
    <div className="facets">
      <div className="segmented" role="group" aria-label="Status">
        {statuses.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={status === one}
            onClick={() => setParams({ status: one, cursor: null })}
          >
            {one === '' ? 'All' : one === 'pending' ? 'waiting' : one}
          </button>
        ))}
      </div>
      {jobId !== '' && (
        <span className="chip">
          {nameOf(jobId)}
          <button
            type="button"
            aria-label="Runs of all jobs"
            onClick={() => setParams({ job: null, cursor: null })}
          >
            ×
          </button>
        </span>
      )}
    </div>
  )
}

function RunsTable({ rows }: { rows: readonly Run[] }) {
  const nameOf = useJobNames(rows.map(({ job_id: id }) => id))
  const open = useCallback((id: string) => navigate(to.run(id)), [])
  const keys = useRowKeys(
    rows.map(({ run_id: id }) => id),
    open,
  )
  return (
    <div className="frame">
      <table className="grid">
        <caption className="unseen">Runs</caption>
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col">Job</th>
            <th scope="col">Tick</th>
            <th scope="col" className="number">
              Started after
            </th>
            <th scope="col" className="number">
              Took
            </th>
            <th scope="col" className="number">
              Attempt
            </th>
            <th scope="col">Error or reason</th>
            <th scope="col">When</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((run, index) => (
            <tr key={run.run_id} data-at={index === keys.at}>
              <td>
                <RunStatusMark status={run.status} />
                {run.catch_up && <span className="aside"> caught up</span>}
              </td>
              <td className="cut">
                <Link href={to.job(run.job_id)}>{nameOf(run.job_id)}</Link>
              </td>
              <td className="nowrap">
                <Link className="name" href={to.run(run.run_id)}>
                  <Time at={run.scheduled_at} />
                </Link>
              </td>
              <td className="number">
                <Lag
                  ms={
                    run.started_at === null ? null : Date.parse(run.started_at) - Date.parse(run.scheduled_at)
                  }
                />
              </td>
              <td className="number">
                <Lag ms={run.duration_ms} />
              </td>
              <td className="number">
                {run.attempt}
                {run.max_attempts !== null && <span className="aside"> of {run.max_attempts}</span>}
              </td>
              <td className="cut" title={run.error ?? ''}>
                {run.error ?? (run.reason === null ? '' : reasonText(run.reason))}
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
