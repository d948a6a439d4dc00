import type { RunDetail } from '@carillon/contract'
import { ApiError } from '@carillon/sdk/browser'
import { duration, json, plural, utc } from '../lib/format.js'
import { useAction, useNow, useQuery, useShared } from '../lib/hooks.js'
import { useJobNames } from '../lib/job-names.js'
import { reasonText } from '../lib/ledger.js'
import { to } from '../lib/location.js'
import { Link } from '../lib/router.js'
import { barsOf, spans } from '../lib/waterfall.js'
import { Columns } from '../ui/columns.js'
import {
  Button,
  Code,
  Empty,
  ErrorNote,
  Facts,
  LinkButton,
  Note,
  PageHead,
  Panel,
  Skeleton,
} from '../ui/pieces.js'
import { RunStatusMark } from '../ui/status.js'
import { Time } from '../ui/time.js'
import { CopyAs } from './copy-as.js'

/** One run: the error first, then the waterfall, then what was sent and what came back. */
export function RunPage({ id }: { id: string }) {
  const { api } = useShared()
  const run = useQuery(`run ${id}`, () => api.runs.get(id), { every: 1_500 })
  if (run.loading) return <Skeleton rows={10} />
  if (run.data === undefined) {
    if (run.error instanceof ApiError && run.error.status === 404)
      return (
        <Empty icon="runs" title="There is no such run.">
          <LinkButton href="/runs">All runs</LinkButton>
        </Empty>
      )
    return run.error === null ? null : <ErrorNote error={run.error} onRetry={run.reload} />
  }
  return (
    <>
      <Head run={run.data} reload={run.reload} />
      {run.error !== null && <ErrorNote error={run.error} />}
      <Failure run={run.data} />
      <Waterfall run={run.data} />
      <Exchange run={run.data} />
      <Attempts run={run.data} />
      <CopyAs run={run.data} />
    </>
  )
}

function Head({ run, reload }: { run: RunDetail; reload: () => void }) {
  const { api, mayWrite } = useShared()
  const action = useAction()
  const name = useJobNames([run.job_id])(run.job_id)
  const inFlight = run.status === 'running' || run.status === 'pending'
  const act = async (work: () => Promise<unknown>, done: string) => {
    if (await action.run(work, done)) reload()
  }
  return (
    <PageHead
      title={
        <>
          <Link href={to.job(run.job_id)}>{name}</Link> <span className="quiet">run</span>
        </>
      }
      below={
        <>
          <Facts
            facts={[
              ['Status', <RunStatusMark key="status" status={run.status} />],
              ['Tick', <Time key="tick" at={run.scheduled_at} withRelative />],
              [
                'UTC',
                <span key="utc" className="mono">
                  {utc(Date.parse(run.scheduled_at))}
                </span>,
              ],
              [
                'Attempt',
                `${run.attempt}${run.max_attempts === null ? '' : ` of ${run.max_attempts}`}${run.round > 1 ? `, round ${run.round}` : ''}`,
              ],
              run.started_at !== null && [
                'Started after',
                duration(Date.parse(run.started_at) - Date.parse(run.scheduled_at)),
              ],
              run.duration_ms !== null && ['Took', duration(run.duration_ms)],
              run.version !== null && [
                'Version',
                <Link key="version" href={`${to.job(run.job_id, 'versions')}&version=${run.version}`}>
                  v{run.version}
                </Link>,
              ],
              run.worker !== null && ['Worker', <code key="worker">{run.worker}</code>],
              run.fencing_token !== null && ['Token', <code key="token">{run.fencing_token}</code>],
              ['Run', <code key="id">{run.run_id}</code>],
            ]}
          />
          {action.error !== null && <ErrorNote error={action.error} />}
        </>
      }
    >
      {mayWrite && run.status === 'dead' && (
        <Button
          look="main"
          icon="retry"
          disabled={action.busy}
          onClick={() => void act(() => api.runs.retry(run.run_id), 'Back in the queue')}
        >
          Retry
        </Button>
      )}
      {mayWrite && inFlight && (
        <Button
          look="danger"
          icon="ban"
          disabled={action.busy}
          onClick={() => void act(() => api.runs.cancel(run.run_id), 'Cancel asked for')}
        >
          Cancel
        </Button>
      )}
      <LinkButton href={`${to.job(run.job_id)}?at=${encodeURIComponent(run.scheduled_at)}`}>Why</LinkButton>
    </PageHead>
  )
}

function Failure({ run }: { run: RunDetail }) {
  const last = run.attempts.findLast(({ error }) => error !== null)
  const error = run.error ?? (run.status === 'success' ? null : (last?.error ?? null))
  if (error === null && (run.reason === null || run.status === 'success')) return null
  const bad = run.status === 'dead' || run.status === 'failed'
  return (
    <section className={`failure ${bad ? 'bad' : 'warn'}`} aria-label="What happened">
      {error !== null && <pre className="error-text">{error}</pre>}
      {run.reason !== null && (
        <p>
          <strong>{reasonText(run.reason)}</strong>
          {run.status === 'pending' && run.available_at !== null && (
            <>
              {' '}
              · next try <Time at={run.available_at} withRelative />
            </>
          )}
        </p>
      )}
    </section>
  )
}

function Waterfall({ run }: { run: RunDetail }) {
  const goesOn = run.status === 'running' || run.status === 'pending'
  const time = useNow(goesOn ? 500 : 60_000)
  const bars = barsOf(run, time)
  const places = spans(bars)
  if (bars.length === 0) return <Note kind="info">Nothing has been tried yet.</Note>
  const end = Math.max(0, ...bars.map(({ to: last }) => last))
  return (
    <Panel title="Waterfall" aside={`from the tick, ${duration(end)} in all`}>
      <table className="waterfall">
        <caption className="unseen">What happened when, in order, counted from the tick</caption>
        <colgroup>
          <col className="c-label" />
          <col className="c-number" />
          <col />
          <col className="c-number" />
          <col className="c-note" />
        </colgroup>
        <tbody>
          {bars.map((bar, index) => (
            <tr key={`${bar.label}${index}`}>
              <th scope="row">{bar.label}</th>
              <td className="number">{sinceTick(bar.from)}</td>
              <td className="lane">
                <span
                  className={`bar ${bar.kind}`}
                  style={{
                    marginLeft: `${places[index]?.start ?? 0}%`,
                    width: `${places[index]?.width ?? 0}%`,
                  }}
                />
              </td>
              <td className="number">{duration(bar.to - bar.from)}</td>
              <td className="cut">{bar.note}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  )
}

function sinceTick(ms: number): string {
  if (Math.abs(ms) < 1) return 'tick'
  return ms < 0 ? `tick ${duration(ms)}` : `tick + ${duration(ms)}`
}

function Exchange({ run }: { run: RunDetail }) {
  const { api } = useShared()
  const { version } = run
  const definition = useQuery(
    version === null ? null : `definition ${run.job_id} ${version}`,
    async () => (await api.jobs.version(run.job_id, version ?? 1)).definition,
  )
  const answer = run.result ?? run.attempts.findLast(({ result }) => result != null)?.result ?? null
  return (
    <div className="two">
      <Panel title="Request" aside={version === null ? '' : `as version ${version} has it`}>
        {definition.data === undefined ? (
          <p className="quiet">{definition.error === null ? 'Asking…' : 'The definition is gone.'}</p>
        ) : (
          <>
            <Code text={json(definition.data.target)} label="Target" />
            <p className="quiet label">Payload</p>
            <Code text={json(definition.data.payload)} label="Payload" />
          </>
        )}
      </Panel>
      <Panel title="Answer" aside="of the last attempt, capped">
        {answer === null ? (
          <p className="quiet">Nothing came back.</p>
        ) : (
          <Code text={typeof answer === 'string' ? answer : json(answer)} label="Answer" />
        )}
      </Panel>
    </div>
  )
}

function Attempts({ run }: { run: RunDetail }) {
  if (run.attempts.length === 0) return null
  return (
    <Panel
      title={plural(run.attempts.length, 'entry', 'entries')}
      aside="in the ledger, the newest first"
      flush
    >
      <div className="frame">
        <table className="grid">
          <caption className="unseen">Attempts, the newest first</caption>
          <Columns of={['Attempt', 'Outcome', 'Started', { number: 'Took' }, 'Error or reason', 'Worker']} />
          <tbody>
            {run.attempts.toReversed().map((attempt) => (
              <tr key={`${attempt.round} ${attempt.attempt} ${attempt.recorded_at}`}>
                <td>
                  {attempt.attempt}
                  {attempt.round > 1 && <span className="aside"> round {attempt.round}</span>}
                </td>
                <td>
                  <RunStatusMark status={attempt.outcome} />
                  {attempt.final && <span className="aside"> final</span>}
                </td>
                <td className="nowrap">
                  {attempt.started_at === null ? '–' : <Time at={attempt.started_at} />}
                </td>
                <td className="number">
                  {attempt.duration_ms === null ? '–' : duration(attempt.duration_ms)}
                </td>
                <td className="wide-cell">
                  {attempt.error ?? (attempt.reason === null ? '' : reasonText(attempt.reason))}
                </td>
                <td>
                  <code>{attempt.worker}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}
