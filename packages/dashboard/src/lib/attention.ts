import type { ClusterView, DeadLetterGroup, Event, Stats, TargetHost } from '@carillon/contract'
import { brief, count, duration, plural } from './format.js'
import { to } from './location.js'

/** One thing that somebody should look at now: what it is, why, and where to go. */
export interface Concern {
  key: string
  severity: 'bad' | 'warn'
  title: string
  why: string
  todo: string
  href: string
}

export interface Known {
  stats: Stats | null
  cluster: ClusterView | null
  groups: readonly DeadLetterGroup[]
  targets: readonly TargetHost[]
  events: readonly Event[]
}

const lateMs = 10_000
const starvedMs = 10_000

/** The worst first. Empty: nothing is wrong that the server knows of. */
export function concernsOf({ stats, cluster, groups, targets, events }: Known): Concern[] {
  const concerns = [
    ...clusterConcerns(cluster),
    ...queueConcerns(stats),
    ...targets.flatMap(targetConcern),
    ...groups.map(letterConcern),
    ...events
      .filter((event) => event.resolved_at === null && !isShown(event, groups, targets))
      .map(eventConcern),
  ]
  return concerns.sort((a, b) => (a.severity === b.severity ? 0 : a.severity === 'bad' ? -1 : 1))
}

/** What such an event tells stands in the list already, with more to say. A host may be none of those that were asked for. */
function isShown(
  { kind, subject }: Event,
  groups: readonly DeadLetterGroup[],
  targets: readonly TargetHost[],
): boolean {
  if (kind === 'dead_letter') return groups.length > 0
  return (
    kind === 'breaker_open' &&
    targets.some(({ host, breaker }) => host === subject && breaker.state !== 'closed')
  )
}

function clusterConcerns(cluster: ClusterView | null): Concern[] {
  if (cluster === null) return []
  const found: Concern[] = []
  if (cluster.unowned > 0)
    found.push({
      key: 'unowned',
      severity: 'bad',
      title: `${plural(cluster.unowned, 'partition')} without an owner`,
      why: 'The ticks of their jobs wait: no live scheduler holds them.',
      todo: 'Start a scheduler, or see why the last one left.',
      href: '/cluster',
    })
  if (cluster.lag_ms > lateMs)
    found.push({
      key: 'lag',
      severity: 'bad',
      title: `Firing is ${duration(cluster.lag_ms)} behind`,
      why: `The oldest due tick has waited ${duration(cluster.lag_ms)} to be fired.`,
      todo: 'See which scheduler is overloaded; the brake widens fire windows.',
      href: '/cluster',
    })
  if (cluster.brake !== null)
    found.push({
      key: 'brake',
      severity: 'warn',
      title: 'The brake is on',
      why: cluster.brake.reason,
      todo: 'It ends by itself. Until then catch-up is slower and windows are wider.',
      href: '/cluster',
    })
  return found
}

function queueConcerns(stats: Stats | null): Concern[] {
  const waits = stats?.queue.oldest_ready_ms ?? 0
  // What waits for an ill host is not among the ready: it is told of that host.
  const ready = stats?.queue.ready ?? 0
  if (stats === null || waits < starvedMs || ready === 0) return []
  return [
    {
      key: 'starved',
      severity: 'bad',
      title: `${plural(ready, 'run')} ready, the oldest for ${duration(waits)}`,
      why: 'They are due and no worker has taken them: none serves their task, their host is limited, or all are busy.',
      todo: 'The runs say what each one waits for.',
      href: '/runs?status=pending',
    },
  ]
}

function targetConcern({ host, breaker, waiting }: TargetHost): Concern[] {
  if (breaker.state === 'closed') return []
  const words = { open: 'open', half_open: 'probing', draining: 'draining' }[breaker.state]
  return [
    {
      key: `target ${host}`,
      severity: breaker.state === 'open' ? 'bad' : 'warn',
      title: `${host}: breaker ${words}`,
      why: `${plural(waiting, 'run')} parked, no attempt burnt. ${brief(breaker.last_error ?? 'It failed too often.')}`,
      todo: 'They leave by themselves once the host is well; a reset lets them go now.',
      href: to.target(host),
    },
  ]
}

function letterConcern(group: DeadLetterGroup): Concern {
  return {
    key: `letters ${group.fingerprint}`,
    severity: 'bad',
    title: `${plural(group.count, 'dead letter')} of ${plural(group.jobs, 'job')}`,
    why: group.example.error ?? group.pattern,
    todo: 'Mend the cause, then re-drive with a canary first.',
    href: to.letters(group.fingerprint),
  }
}

function eventConcern({ event, kind, subject }: Event): Concern {
  return {
    key: `event ${count(event)}`,
    severity: kind === 'overload' ? 'bad' : 'warn',
    title: subject,
    why: kind.replaceAll('_', ' '),
    todo: 'The alerts say more.',
    href: '/alerts',
  }
}
