import type { Job, Run } from '@carillon/contract'
import { duration, percentile, plural } from '../lib/format.js'
import { useQuery, useShared } from '../lib/hooks.js'
import { reasonText, stripOf, tallyOf } from '../lib/ledger.js'
import { Link, setParams, useParam } from '../lib/router.js'
import { Chart } from '../ui/chart.js'
import { Strip } from '../ui/strip.js'
import { Empty, ErrorNote, Panel, Skeleton } from '../ui/pieces.js'
import { zoneFor } from '../ui/time.js'
import { RunTable } from './run-table.js'
import { WhyPanel } from './why.js'

const trendRuns = 200

/** The last sixty ticks, each with its outcome and reason; how long runs took; the runs as a list. */
export function History({ job }: { job: Job }) {
  const { api } = useShared()
  const [at] = useParam('at')
  const runs = useQuery(`runs of ${job.job_id}`, () => api.jobs.runs(job.job_id, { limit: trendRuns }), {
    every: 3_000,
  })
  if (runs.loading) return <Skeleton rows={6} />
  if (runs.data === undefined)
    return runs.error === null ? null : <ErrorNote error={runs.error} onRetry={runs.reload} />
  if (runs.data.length === 0)
    return (
      <Empty icon="clock" title="No tick has been due yet.">
        <p className="quiet">
          {job.next_run_at === null
            ? 'None is ahead either.'
            : 'The first one appears here when its time comes.'}
        </p>
      </Empty>
    )
  const cells = stripOf(runs.data)
  const tally = tallyOf(cells)
  const choose = (iso: string | null) => setParams({ at: iso })
  return (
    <>
      <Panel
        title={`Last ${plural(cells.length, 'entry', 'entries')} of the ledger`}
        aside={tallyWords(tally)}
      >
        <Strip cells={cells} zone={job.timezone} chosen={at} onChoose={choose} />
      </Panel>
      {at !== '' && <WhyPanel jobId={job.job_id} at={at} zone={job.timezone} onClose={() => choose(null)} />}
      <Trend runs={runs.data} job={job} />
      <Panel title="Runs" flush actions={<Link href={`/runs?job=${job.job_id}`}>All runs of this job</Link>}>
        <RunTable rows={runs.data.slice(0, 30)} caption="Runs, the newest first" job={job} />
      </Panel>
    </>
  )
}

function tallyWords({ ran, failed, skipped, inFlight, reasons }: ReturnType<typeof tallyOf>): string {
  const parts = [
    `${ran} ran`,
    failed > 0 && `${failed} failed`,
    skipped > 0 && `${skipped} not run`,
    inFlight > 0 && `${inFlight} in flight`,
    reasons.length > 0 &&
      `why: ${reasons
        .slice(0, 3)
        .map(([reason, times]) => `${reasonText(reason)} ×${times}`)
        .join(', ')}`,
  ]
  return parts.filter((part) => part !== false).join(' · ')
}

function Trend({ runs, job }: { runs: readonly Run[]; job: Job }) {
  const { zone: choice } = useShared()
  const done = runs
    .filter(({ duration_ms: ms, started_at: at }) => ms !== null && at !== null)
    .toSorted((a, b) => Date.parse(a.started_at ?? '') - Date.parse(b.started_at ?? ''))
  if (done.length < 2) return null
  const values = done.map(({ duration_ms: ms }) => ms)
  const numbers = values.filter((value) => value !== null)
  const [p50, p95] = [percentile(numbers, 0.5), percentile(numbers, 0.95)]
  return (
    <Panel
      title="How long it took"
      aside={`last ${plural(done.length, 'run')}: p50 ${duration(p50 ?? 0)}, p95 ${duration(p95 ?? 0)}, limit ${duration(job.timeout_seconds * 1_000)}`}
    >
      <Chart
        label="Duration of the last runs"
        unit="ms"
        points={done.length < 80}
        zone={zoneFor(choice, job.timezone)}
        times={done.map(({ started_at: at }) => Date.parse(at ?? '') / 1_000)}
        series={[
          {
            label: 'succeeded',
            hue: 'good',
            values: done.map(({ status, duration_ms: ms }) => (status === 'success' ? ms : null)),
          },
          {
            label: 'failed',
            hue: 'bad',
            values: done.map(({ status, duration_ms: ms }) => (status === 'success' ? null : ms)),
          },
          { label: 'p95', hue: 'quiet', values: done.map(() => p95) },
        ]}
      />
    </Panel>
  )
}
