export const alertSeverities = ['critical', 'warning', 'info'] as const
export type AlertSeverity = (typeof alertSeverities)[number]

interface ParamBounds {
  readonly default: number | null
  readonly min: number
  readonly max: number
  readonly doc: string
}

/** What a kind of alert is: one place, so that rules, docs, API and statements agree. */
export interface AlertKindEntry {
  readonly severity: AlertSeverity
  /** `job`: of one job. `tenant`: of something else that a tenant has. `fleet`: of the fleet; its rules are those of the tenant `default`. */
  readonly scope: 'job' | 'tenant' | 'fleet'
  /** When it is raised, in words. */
  readonly raised: string
  readonly resolved: string
  readonly params: Readonly<Record<string, ParamBounds>>
}

const seconds = (byDefault: number | null, min: number, doc: string): ParamBounds => ({
  default: byDefault,
  min,
  max: 30 * 86_400,
  doc,
})

export const alertKinds = {
  failed_in_row: {
    severity: 'warning',
    scope: 'job',
    raised: 'so many runs of a job in a row ended as failed or dead',
    resolved: 'a run of the job succeeds',
    params: { times: { default: 3, min: 1, max: 100, doc: 'runs in a row' } },
  },
  dead_letter: {
    severity: 'warning',
    scope: 'job',
    raised: 'a job has dead letters',
    resolved: 'it has none: they were re-driven or discarded',
    params: {},
  },
  late_start: {
    severity: 'warning',
    scope: 'job',
    raised: 'a run did not start within `expect.start_within_seconds` of its job',
    resolved: 'a later run starts in time',
    params: {
      start_within_seconds: seconds(
        null,
        1,
        'for jobs that expect nothing themselves; null: they are not judged',
      ),
    },
  },
  slow_run: {
    severity: 'warning',
    scope: 'job',
    raised:
      'an attempt takes longer than `expect.finish_within_seconds`; without that, longer than `factor` times the learned p95',
    resolved: 'a later attempt ends in time',
    params: {
      factor: { default: 2, min: 1.1, max: 100, doc: 'times the p95 of the last hundred successes' },
      min_seconds: seconds(30, 10, 'shorter attempts are never slow by what was learned'),
      min_samples: {
        default: 20,
        min: 5,
        max: 100,
        doc: 'successes within the last week before anything is learned',
      },
    },
  },
  missed_tick: {
    severity: 'warning',
    scope: 'job',
    raised: 'nobody fired a tick within the tolerance: it was passed over or caught up later',
    resolved: 'a later tick runs at its time',
    params: {},
  },
  cadence_drift: {
    severity: 'warning',
    scope: 'job',
    raised:
      'runs take longer than the period: half of the last ticks or more, and at least so many, found the run before them going on',
    resolved: 'less than a quarter of the last ticks do',
    params: { skipped: { default: 3, min: 1, max: 20, doc: 'ticks passed over' } },
  },
  partition_stalled: {
    severity: 'critical',
    scope: 'fleet',
    raised: 'a partition has no owner, or its due timers wait, for so long',
    resolved: 'every partition fires',
    params: { seconds: seconds(30, 5, 'how long') },
  },
  no_scheduler: {
    severity: 'critical',
    scope: 'fleet',
    raised: 'no scheduler has been alive for so long; said by any process that is',
    resolved: 'a scheduler is alive',
    params: { seconds: seconds(30, 5, 'how long') },
  },
  overload: {
    severity: 'critical',
    scope: 'fleet',
    raised: 'a scheduler fires its ticks later than CARILLON_OVERLOAD_LAG_SECONDS',
    resolved: 'it fires in time, or is gone',
    params: {},
  },
  large_catch_up: {
    severity: 'warning',
    scope: 'fleet',
    raised: 'a scheduler has CARILLON_LARGE_CATCH_UP_TICKS missed ticks or more to catch up',
    resolved: 'it has caught up, or is gone',
    params: {},
  },
  ownership_churn: {
    severity: 'warning',
    scope: 'fleet',
    raised: 'within ten minutes partitions were taken over so many times each, on average',
    resolved: 'less than half as often',
    params: { takeovers: { default: 4, min: 1, max: 1_000, doc: 'of each partition, on average' } },
  },
  clock_step: {
    severity: 'warning',
    scope: 'fleet',
    raised: 'the clock of the database was set, or a process slept',
    resolved: 'an hour later',
    params: {},
  },
  breaker_open: {
    severity: 'warning',
    scope: 'tenant',
    raised: 'the breaker of a host is not closed',
    resolved: 'it is closed',
    params: {},
  },
  channel_failing: {
    severity: 'warning',
    scope: 'tenant',
    raised: 'a channel took nothing three times in a row, or a notification was given up after a day',
    resolved: 'it takes one',
    params: {},
  },
  tick_change_dropped: {
    severity: 'info',
    scope: 'job',
    raised: 'a tick that somebody had skipped or moved is none any more',
    resolved: 'an hour later',
    params: {},
  },
  enqueue_refused: {
    severity: 'info',
    scope: 'tenant',
    raised: 'a request of the outbox cannot be carried out',
    resolved: 'an hour later',
    params: {},
  },
} as const satisfies Readonly<Record<string, AlertKindEntry>>

export type AlertKind = keyof typeof alertKinds
export const alertKindNames = Object.keys(alertKinds) as AlertKind[]

export function alertKindOf(kind: string): AlertKindEntry | undefined {
  return Object.hasOwn(alertKinds, kind) ? alertKinds[kind as AlertKind] : undefined
}

/** What a rule leaves unsaid. */
export function alertParams(
  kind: AlertKind,
  given: Readonly<Record<string, number | null>> = {},
): Record<string, number | null> {
  const params: Readonly<Record<string, ParamBounds>> = alertKinds[kind].params
  return Object.fromEntries(
    Object.entries(params).map(([name, bounds]) => [name, given[name] ?? bounds.default]),
  )
}

/** Where a page says what it means and what to do. */
export function alertRunbook(kind: string): string {
  return `/docs/operate/alerts.md#${kind}`
}
