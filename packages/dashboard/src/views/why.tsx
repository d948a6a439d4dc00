import type { Why } from '@carillon/contract'
import { count } from '../lib/format.js'
import { useQuery, useShared } from '../lib/hooks.js'
import { to } from '../lib/location.js'
import { Button, ErrorNote, Facts, LinkButton, Note, Panel, Skeleton } from '../ui/pieces.js'
import { Status } from '../ui/status.js'
import { Time } from '../ui/time.js'

const verdictStates: Record<Why['verdict'], string> = {
  ran: 'success',
  late: 'late',
  caught_up: 'caught_up',
  skipped: 'skipped',
  in_flight: 'running',
  paused: 'paused',
  pending: 'pending',
  unaccounted: 'missed',
  future: 'planned',
  no_tick: 'cancelled',
  not_verifiable: 'cancelled',
}

/** What became of one tick, in the words of the server that decided it. */
export function WhyPanel({
  jobId,
  at,
  zone,
  onClose,
}: {
  jobId: string
  at: string
  zone: string
  onClose: () => void
}) {
  const { api } = useShared()
  const why = useQuery(`why ${jobId} ${at}`, () => api.jobs.why(jobId, at), { every: 5_000 })
  return (
    <Panel
      title="Why"
      aside={<Time at={at} zone={zone} withRelative />}
      actions={
        <>
          {why.data != null && why.data.run_id !== null && (
            <LinkButton href={to.run(why.data.run_id)}>Open the run</LinkButton>
          )}
          <Button look="bare" icon="cross" aria-label="Close" onClick={onClose} />
        </>
      }
    >
      {why.loading && <Skeleton rows={3} />}
      {why.error !== null && <ErrorNote error={why.error} />}
      {why.data !== undefined && <Answer why={why.data} zone={zone} />}
    </Panel>
  )
}

function Answer({ why, zone }: { why: Why; zone: string }) {
  const { range, replay, attempts } = why
  const failed = attempts.filter(({ error }) => error !== null).at(-1)
  return (
    <div className="why">
      <p className="why-summary">
        <Status
          state={failed !== undefined && why.verdict === 'ran' ? 'failed' : verdictStates[why.verdict]}
          words={why.verdict.replaceAll('_', ' ')}
        />{' '}
        <strong>{why.summary}</strong>
      </p>
      {failed?.error != null && <pre className="error-text">{failed.error}</pre>}
      {why.todo !== null && (
        <Note kind="info">
          <strong>What to do:</strong> {why.todo}
        </Note>
      )}
      <Facts
        facts={[
          ['Job zone', `${why.local} ${why.timezone}`],
          why.reason !== null && ['Reason', <code key="reason">{why.reason}</code>],
          why.start_at !== null && ['Could start', <Time key="start" at={why.start_at} zone={zone} />],
          why.fired_at !== null && ['Fired', <Time key="fired" at={why.fired_at} zone={zone} />],
          why.leased_at !== null && ['Leased', <Time key="leased" at={why.leased_at} zone={zone} />],
          attempts.length > 0 && ['Attempts', attempts.map(({ outcome }) => outcome).join(', ')],
          why.segment !== null && ['Version', `${why.segment.version}, zone data ${why.segment.zone_data}`],
          why.before !== null && ['Tick before', <Time key="before" at={why.before} zone={zone} />],
          why.after !== null && ['Tick after', <Time key="after" at={why.after} zone={zone} />],
        ]}
      />
      {range !== null && (
        <p className="quiet">
          One record stands for {count(range.ticks)} ticks, <Time at={range.from} zone={zone} /> to{' '}
          <Time at={range.to} zone={zone} />.
        </p>
      )}
      {replay !== null && (
        <p className="quiet">
          A catch-up ({replay.reason}) is {replay.state}: {count(replay.done)} of {count(replay.total)} done,{' '}
          {count(replay.position)} before this one.
        </p>
      )}
    </div>
  )
}
