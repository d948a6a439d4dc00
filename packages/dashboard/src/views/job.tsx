import type { Job } from '@carillon/contract'
import { ApiError } from '@carillon/sdk/browser'
import { plural, scheduleText, targetText } from '../lib/format.js'
import { useQuery, useShared } from '../lib/hooks.js'
import { rememberName } from '../lib/job-names.js'
import { to } from '../lib/location.js'
import { Link, useParam } from '../lib/router.js'
import { Empty, ErrorNote, Facts, LinkButton, Note, PageHead, Skeleton, Tags } from '../ui/pieces.js'
import { Status } from '../ui/status.js'
import { Time } from '../ui/time.js'
import { JobActions } from './job-actions.js'
import { Backfills } from './job-backfills.js'
import { Definition } from './job-definition.js'
import { History } from './job-history.js'
import { NextTicks } from './job-ticks.js'
import { Versions } from './job-versions.js'

const tabs = [
  ['', 'Ledger'],
  ['ticks', 'Next ticks'],
  ['versions', 'Versions'],
  ['backfills', 'Backfills'],
  ['definition', 'Definition'],
] as const

export function JobPage({ id }: { id: string }) {
  const { api } = useShared()
  const [tab] = useParam('tab')
  const job = useQuery(`job ${id}`, () => api.jobs.get(id), { every: 5_000 })
  if (job.loading) return <Skeleton rows={10} />
  if (job.data === undefined) return <NoJob error={job.error} reload={job.reload} />
  rememberName(id, job.data.name)
  return (
    <>
      <Head job={job.data} reload={job.reload} />
      {job.error !== null && <ErrorNote error={job.error} />}
      <Notices job={job.data} />
      <nav className="tabs" aria-label="About this job">
        {tabs.map(([name, words]) => (
          <Link
            key={name}
            href={name === '' ? to.job(id) : to.job(id, name)}
            aria-current={tab === name ? 'page' : undefined}
          >
            {words}
          </Link>
        ))}
      </nav>
      {tab === '' && <History job={job.data} />}
      {tab === 'ticks' && <NextTicks job={job.data} />}
      {tab === 'versions' && <Versions job={job.data} onChange={job.reload} />}
      {tab === 'backfills' && <Backfills job={job.data} />}
      {tab === 'definition' && <Definition job={job.data} />}
    </>
  )
}

function NoJob({ error, reload }: { error: Error | null; reload: () => void }) {
  if (error instanceof ApiError && error.status === 404)
    return (
      <Empty icon="jobs" title="There is no such job.">
        <p className="quiet">It was deleted, or never was. Its runs still answer by their ids.</p>
        <LinkButton href="/jobs">All jobs</LinkButton>
      </Empty>
    )
  return error === null ? null : <ErrorNote error={error} onRetry={reload} />
}

function Head({ job, reload }: { job: Job; reload: () => void }) {
  return (
    <PageHead
      title={job.name}
      below={
        <>
          {job.description !== null && <p className="quiet">{job.description}</p>}
          <Facts
            facts={[
              ['State', <Status key="state" state={job.state} />],
              [
                'Schedule',
                <span key="schedule">
                  <code>{scheduleText(job.schedule)}</code> <span className="aside">{job.timezone}</span>
                </span>,
              ],
              [
                'Next run',
                job.next_run_at === null ? (
                  'none ahead'
                ) : (
                  <Time key="next" at={job.next_run_at} zone={job.timezone} withRelative ahead />
                ),
              ],
              ['Target', <TargetFact key="target" job={job} />],
              ['Overlap', job.overlap_policy],
              ['Missed', job.missed_window],
              ['Attempts', String(job.max_retries + 1)],
              job.tags.length > 0 && ['Tags', <Tags key="tags" tags={job.tags} />],
              job.managed_by !== null && ['Managed by', job.managed_by],
            ]}
          />
        </>
      }
    >
      <JobActions job={job} onChange={reload} />
    </PageHead>
  )
}

function TargetFact({ job: { target } }: { job: Job }) {
  const host = target.type === 'http' && URL.canParse(target.url) ? new URL(target.url).host : null
  return (
    <span className="target-fact">
      <span className="kind">{target.type}</span>{' '}
      {host === null ? (
        <span>{targetText(target)}</span>
      ) : (
        <Link href={to.target(host)}>{targetText(target)}</Link>
      )}
    </span>
  )
}

function Notices({ job }: { job: Job }) {
  return (
    <>
      {job.state === 'paused' && (
        <Note kind="warn">
          <strong>
            Paused
            {job.paused_at !== null && (
              <>
                {' '}
                since <Time at={job.paused_at} zone={job.timezone} />
              </>
            )}
            .
          </strong>{' '}
          {job.pause_reason ?? 'No reason was given.'}{' '}
          {job.paused_until === null ? (
            'It stays so until somebody resumes it.'
          ) : (
            <>
              It resumes by itself at <Time at={job.paused_until} zone={job.timezone} withRelative />.
            </>
          )}
        </Note>
      )}
      {job.state === 'cancelled' && (
        <Note kind="info">
          <strong>
            Cancelled
            {job.cancelled_at !== null && (
              <>
                {' '}
                at <Time at={job.cancelled_at} zone={job.timezone} />
              </>
            )}
            .
          </strong>{' '}
          {job.cancel_reason} No further tick comes; definition and history stay.
        </Note>
      )}
      {job.warnings.map(({ code, message, hint }) => (
        <Note key={code + message} kind="warn">
          <strong>{message}</strong> {hint}
        </Note>
      ))}
      {job.max_runs !== null && <Note kind="info">It ends after {plural(job.max_runs, 'run')}.</Note>}
    </>
  )
}
