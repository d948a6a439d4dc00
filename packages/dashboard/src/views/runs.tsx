import type { Run, RunListQuery, RunStatus } from '@carillon/contract'
import { useQuery, useShared } from '../lib/hooks.js'
import { useJobNames } from '../lib/job-names.js'
import { merged, useLiveRuns } from '../lib/live.js'
import { setParams, useParam } from '../lib/router.js'
import { Button, Empty, ErrorNote, Note, PageHead, Skeleton } from '../ui/pieces.js'
import { Pager } from './jobs.js'
import { RunTable } from './run-table.js'

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
      {rows.length > 0 && <RunTable rows={rows} caption="Runs" />}
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
  // What runs stands above all; hundreds that wait must not push out what has ended.
  const runs = ({ status }: Run) => (status === 'running' ? 1 : 0)
  return rows.toSorted((a, b) => runs(b) - runs(a) || time(b) - time(a))
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
