import type { ClusterView, Run, Stats } from '@carillon/contract'
import type { ReactNode } from 'react'
import { concernsOf } from '../lib/attention.js'
import { brief, count, duration, plural, short } from '../lib/format.js'
import { type Query, useQuery, useShared } from '../lib/hooks.js'
import { useJobNames } from '../lib/job-names.js'
import { reasonText } from '../lib/ledger.js'
import { type LivePoint, useLiveStats } from '../lib/live.js'
import { to } from '../lib/location.js'
import { type Counts, lineOf, type Pieces, shownMinutes, stepSeconds } from '../lib/pieces.js'
import { recentOf, whenOf } from '../lib/recent.js'
import { Link } from '../lib/router.js'
import { Chart } from '../ui/chart.js'
import { Icon } from '../ui/icon.js'
import { Code, Empty, ErrorNote, LinkButton, PageHead, Panel, Skeleton } from '../ui/pieces.js'
import { RunStatusMark } from '../ui/status.js'
import { Ago, zoneFor } from '../ui/time.js'

/** What did not run, why, and what to do: at the top. Numbers and charts below. */
export function Overview() {
  const { api, seesFleet, mayWrite } = useShared()
  const { stats, points, pieces, broken } = useLiveStats()
  const cluster = useQuery(seesFleet ? 'cluster' : null, () => api.cluster(), { every: 5_000 })
  if (stats === null) return broken === null ? <Skeleton rows={8} /> : <ErrorNote error={broken} />
  const { active, paused, ended, cancelled } = stats.jobs
  const none = active + paused + ended + cancelled === 0
  return (
    <>
      <PageHead title="Overview">
        {mayWrite && (
          <LinkButton href="/jobs/new" icon="plus" look="main">
            Create job
          </LinkButton>
        )}
      </PageHead>
      {broken !== null && <ErrorNote error={broken} />}
      {none && <FirstJob />}
      <Attention stats={stats} cluster={cluster} />
      <Tiles stats={stats} cluster={cluster.data ?? null} />
      <Charts pieces={pieces} points={points} />
      <div className="two">
        <RecentPanel title="Did not succeed" statuses={['dead', 'failed']} empty="No run failed of late." />
        <RecentPanel title="Did not run" statuses={['skipped']} empty="No tick was passed over of late." />
      </div>
    </>
  )
}

function FirstJob() {
  const command = [
    `curl ${location.origin}/api/v1/jobs \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"name": "hello", "schedule": "@every 10s"}'`,
  ].join('\n')
  return (
    <Empty icon="bell" title="No jobs yet.">
      <p className="quiet">Create the first one here, or from a terminal:</p>
      <Code text={command} label="A command that registers a job" />
    </Empty>
  )
}

function Attention({ stats, cluster }: { stats: Stats; cluster: Query<ClusterView> }) {
  const { api } = useShared()
  const groups = useQuery('groups', () => api.deadLetters.groups(), { every: 10_000 })
  const targets = useQuery('targets', () => api.targets.list({ limit: 100 }), { every: 10_000 })
  const events = useQuery('events', () => api.events({ state: 'open', limit: 20 }), { every: 10_000 })
  const concerns = concernsOf({
    stats,
    cluster: cluster.data ?? null,
    groups: (groups.data ?? []).slice(0, 5),
    targets: targets.data?.data ?? [],
    events: events.data ?? [],
  })
  const asked = [groups, targets, events, cluster]
  if (asked.some(({ loading }) => loading)) return <Skeleton rows={2} />
  // Who was not answered does not know that all is well.
  const unknown = asked.find(({ error }) => error !== null)?.error ?? null
  if (concerns.length === 0 && unknown !== null) return <ErrorNote error={unknown} />
  if (concerns.length === 0)
    return (
      <div className="note good calm">
        <Icon name="check" size={16} />
        <div>
          <strong>Nothing needs you.</strong> No dead letters, no open breaker
          {cluster.data !== undefined && ', every partition has an owner'}.
        </div>
      </div>
    )
  return (
    <section aria-label="Needs attention" className="concerns">
      {unknown !== null && <ErrorNote error={unknown} />}
      {concerns.map(({ key, severity, title, why, todo, href }) => (
        <Link key={key} href={href} className={`concern ${severity}`}>
          <Icon name={severity === 'bad' ? 'cross' : 'warn'} size={16} />
          <span className="concern-words">
            <strong>{title}</strong>
            <span className="concern-why">{why}</span>
          </span>
          <span className="aside">{todo}</span>
          <Icon name="arrow" />
        </Link>
      ))}
    </section>
  )
}

interface TileProps {
  label: string
  value: ReactNode
  below: ReactNode
  href: string
  hue?: 'bad' | 'warn'
}

function Tile({ label, value, below, href, hue }: TileProps) {
  return (
    <Link href={href} className={`tile ${hue ?? ''}`}>
      <span className="tile-label">{label}</span>
      <span className="tile-value">{value}</span>
      <span className="tile-below">{below}</span>
    </Link>
  )
}

function Tiles({ stats, cluster }: { stats: Stats; cluster: ClusterView | null }) {
  const { queue, last_minute: minute, last_hour: hour, jobs } = stats
  const lag = minute.lag_ms ?? hour.lag_ms
  const waits = queue.oldest_ready_ms
  const owners = cluster?.nodes.filter(({ partitions }) => partitions > 0).length
  return (
    <div className="tiles">
      <Tile
        label="Start lag p99"
        value={lag === null ? '–' : duration(lag.p99)}
        below={lag === null ? 'nothing has started yet' : `p50 ${duration(lag.p50)}`}
        href={cluster === null ? '/runs' : '/cluster'}
        {...(lag !== null && lag.p99 > 5_000 && { hue: 'bad' as const })}
      />
      <Tile
        label="Firings / s"
        value={short(Math.round((minute.fired / 60) * 10) / 10)}
        below={`${count(hour.fired)} last hour`}
        href="/runs"
      />
      <Tile
        label="Queue"
        value={short(queue.ready)}
        below={waits === null ? 'nobody waits' : `oldest ${duration(waits)}`}
        href="/runs?status=pending"
        {...(waits !== null && waits > 10_000 && { hue: 'bad' as const })}
      />
      <Tile
        label="In flight"
        value={short(queue.running)}
        below={`${count(queue.waiting)} for a place, ${count(queue.waiting_retry)} retry, ${count(queue.parked)} parked`}
        href="/runs?status=running"
      />
      <Tile
        label="Failures, last hour"
        value={short(hour.failed + hour.dead)}
        below={`${count(minute.failed + minute.dead)} last minute`}
        href="/runs?status=failed"
        {...(hour.failed + hour.dead > 0 && { hue: 'warn' as const })}
      />
      <Tile
        label="Dead letters"
        value={short(stats.dead_letters)}
        below={stats.dead_letters === 0 ? 'none' : 'wait for somebody'}
        href="/dead-letters"
        {...(stats.dead_letters > 0 && { hue: 'bad' as const })}
      />
      <Tile label="Jobs" value={short(jobs.active)} below={`${count(jobs.paused)} paused`} href="/jobs" />
      <Tile
        label="Owners"
        value={owners ?? stats.nodes.alive}
        below={
          cluster === null
            ? 'nodes alive'
            : `${plural(cluster.partitions.length - cluster.unowned, 'partition')} held`
        }
        href={cluster === null ? '/' : '/cluster'}
        {...((cluster?.unowned ?? 0) > 0 && { hue: 'bad' as const })}
      />
    </div>
  )
}

function Charts({ pieces: known, points }: { pieces: Pieces; points: readonly LivePoint[] }) {
  const { zone: choice } = useShared()
  const zone = zoneFor(choice, undefined)
  const pieces = lineOf(known)
  const times = pieces.map(({ at }) => at)
  const rate = (pick: (counts: Counts) => number) =>
    pieces.map(({ counts }) => (counts === null ? 0 : pick(counts) / stepSeconds))
  const lag = (name: 'p50' | 'p99') => pieces.map(({ counts }) => counts?.lag_ms?.[name] ?? null)
  return (
    <div className="charts">
      <Panel title="Firings per second" aside={`last ${shownMinutes} minutes`}>
        <Chart
          label="Firings per second"
          zone={zone}
          times={times}
          series={[
            { label: 'fired', hue: 'busy', fill: true, values: rate(({ fired }) => fired) },
            { label: 'failed', hue: 'bad', values: rate(({ failed, dead }) => failed + dead) },
            { label: 'skipped', hue: 'warn', values: rate(({ skipped }) => skipped) },
          ]}
        />
      </Panel>
      <Panel title="Start lag" aside={`first attempts, last ${shownMinutes} minutes`}>
        <Chart
          label="Start lag"
          zone={zone}
          unit="ms"
          times={times}
          series={[
            { label: 'p50', hue: 'good', values: lag('p50') },
            { label: 'p99', hue: 'accent', values: lag('p99') },
          ]}
        />
      </Panel>
      <Panel title="Queue" aside="live, every two seconds">
        <Chart
          label="Runs in the queue"
          zone={zone}
          times={points.map(({ at }) => at)}
          series={[
            { label: 'ready', hue: 'warn', fill: true, values: points.map(({ ready }) => ready) },
            { label: 'running', hue: 'busy', values: points.map(({ running }) => running) },
            { label: 'waiting', hue: 'quiet', values: points.map(({ waiting }) => waiting) },
          ]}
        />
      </Panel>
    </div>
  )
}

interface RecentProps {
  title: string
  statuses: ('dead' | 'failed' | 'skipped')[]
  empty: string
}

const looked = 60

function RecentPanel({ title, statuses, empty }: RecentProps) {
  const { api } = useShared()
  const runs = useQuery(
    `recent ${statuses.join(' ')}`,
    async () => {
      const lists = await Promise.all(statuses.map((status) => api.runs.list({ status, limit: looked })))
      return recentOf(
        lists.flatMap(({ data }) => data),
        8,
      )
    },
    { every: 5_000 },
  )
  const rows = runs.data ?? []
  const nameOf = useJobNames(rows.map(({ run }) => run.job_id))
  return (
    <Panel title={title} aside="of late, by job and reason" flush>
      {runs.loading && <Skeleton rows={4} />}
      {runs.error !== null && <ErrorNote error={runs.error} />}
      {runs.data?.length === 0 && <p className="quiet pad">{empty}</p>}
      {rows.length > 0 && (
        <ul className="recent">
          {rows.map(({ key, run, times }) => (
            <li key={key}>
              <Link href={placeOfRun(run)}>
                <RunStatusMark status={run.status} />
                <span className="recent-name">{nameOf(run.job_id)}</span>
                <span className="recent-why">
                  {run.error !== null ? brief(run.error) : run.reason === null ? '' : reasonText(run.reason)}
                </span>
                <span className="aside">
                  {times > 1 && `×${count(times)}, `}
                  <Ago at={new Date(whenOf(run)).toISOString()} />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

/** A tick that was passed over has no run to look at: its job says why. */
function placeOfRun(run: Run): string {
  if (run.status !== 'skipped') return to.run(run.run_id)
  return `${to.job(run.job_id)}?at=${encodeURIComponent(run.scheduled_at)}`
}
