// Jobs of every kind: what is drawn here goes to the API as a person would send it.

const zones = ['Europe/Berlin', 'Europe/London', 'Europe/Lisbon', 'Europe/Athens', 'America/New_York', 'UTC']
const kinds = [
  [2, everySecond],
  [8, someSeconds],
  [20, interval],
  [16, secondsInAZone],
  [20, everyMinuteInAZone],
  [10, fixedTimes],
  [8, recurrence],
  [5, union],
  [5, oneOff],
  [6, excluded],
]
/** What the API client may do to a job. `steady` ones are left alone. */
const groups = [
  [84, 'steady'],
  [8, 'paused'],
  [8, 'edited'],
]

/** The calendars that `excluded` jobs name: days far away, and a time in the middle in which nothing fires. */
export function mixCalendars(startsAt, endsAt) {
  const iso = (instant) => new Date(instant).toISOString()
  const third = (endsAt - startsAt) / 3
  return {
    'far-days': { dates: ['2031-12-24/2032-01-02'] },
    'quiet-hours': {
      dates: ['2031-05-01'],
      blackouts: [{ from: iso(startsAt + third), to: iso(startsAt + 2 * third), reason: 'maintenance' }],
    },
  }
}

/**
 * @param {number} count
 * @param {import('./random.mjs').Random} random
 * @param {{ startsAt: number, endsAt: number }} span by the database's clock
 */
export function drawJobs(count, random, span) {
  return Array.from({ length: count }, (_, index) => {
    const group = random.weighted(groups)
    // The first jobs are one of each kind, so that a short run has them all.
    const make = index < kinds.length ? kinds[index][1] : random.weighted(kinds)
    const { periodMs, ...schedule } = make(random, span)
    const input = {
      name: `mix-${index}`,
      ...schedule,
      ...bounds(random, span, schedule),
      ...spread(random),
      ...policies(random),
      ...work(random, periodMs),
    }
    return { group, kind: make.name, busy: input.payload !== null && periodMs <= frequentMs, input }
  })
}

function everySecond() {
  return { schedule: '* * * * * *', periodMs: 1_000 }
}

function someSeconds(random) {
  return { schedule: `${random.between(0, 4)}-59/5 * * * * *`, periodMs: 5_000 }
}

function interval(random) {
  const seconds = random.between(10, 30)
  return {
    schedule: random.chance(0.5) ? `@every ${seconds}s` : { every: seconds },
    periodMs: seconds * 1_000,
  }
}

function secondsInAZone(random) {
  const step = random.pick([15, 20, 30])
  const schedule = `${random.between(0, step - 1)}-59/${step} * * * * *`
  return { schedule, timezone: random.pick(zones), periodMs: step * 1_000 }
}

function everyMinuteInAZone(random) {
  const second = random.chance(0.5) ? '' : `${random.between(0, 59)} `
  return { schedule: `${second}* * * * *`, timezone: random.pick(zones), periodMs: 60_000 }
}

/** Hours around the clock change: these rules have wall times that are jumped over, or shown twice. */
function fixedTimes(random) {
  return {
    schedule: `*/${random.between(1, 3)} 0-5 * * *`,
    timezone: random.pick(zones.slice(0, 4)),
    dst_gap: random.pick(['run_after', 'skip']),
    dst_overlap: random.pick(['first', 'last', 'both']),
    periodMs: 60_000,
  }
}

function recurrence(random) {
  const rrule = random.pick([
    'FREQ=MINUTELY',
    'FREQ=MINUTELY;INTERVAL=2',
    'FREQ=DAILY;BYHOUR=0,1,2,3,4;BYMINUTE=0,5,10,15,20,25,30,35,40,45,50,51,52,53,54,55,56,57,58,59',
  ])
  return {
    schedule: { rrule, dtstart: '2026-01-01T00:00:00' },
    timezone: random.pick(zones),
    periodMs: 60_000,
  }
}

/** The interval is counted from a whole second: its ticks and the others coincide, or are seconds apart. */
function union(random, { startsAt }) {
  const anchor = new Date(Math.floor(startsAt / 60_000) * 60_000 - 3_600_000).toISOString()
  const every = { every: `${random.between(15, 40)}s`, anchor }
  const schedule = [every, `${random.between(0, 59)} * * * * *`, '*/2 * * * *']
  return { schedule, timezone: random.pick(zones), periodMs: 10_000 }
}

function oneOff(random, { startsAt, endsAt }) {
  const at = startsAt + Math.floor(random.next() * (endsAt - startsAt)) - (random.chance(0.1) ? 600_000 : 0)
  return { schedule: new Date(at).toISOString(), periodMs: 60_000 }
}

function excluded(random) {
  if (random.chance(0.5)) {
    const name = random.pick(['far-days', 'quiet-hours'])
    return { schedule: '*/20 * * * * *', exclude: [name, '2031-08-08'], periodMs: 20_000 }
  }
  // The days around the clock changes are a weekend's end and a Monday: moved ticks come to pass.
  return {
    schedule: '* * * * *',
    timezone: 'Europe/Berlin',
    exclude: ['2026-03-28', '2026-10-24', '2027-05-05/2027-05-09'],
    on_excluded: random.pick(['exclude', 'next_business_day', 'previous_business_day']),
    periodMs: 60_000,
  }
}

function bounds(random, { startsAt, endsAt }, { schedule }) {
  const isOnce = typeof schedule === 'string' && /^\d{4}-/.test(schedule)
  if (isOnce || random.chance(0.92)) return {}
  const at = new Date(startsAt + Math.floor((0.3 + 0.5 * random.next()) * (endsAt - startsAt))).toISOString()
  return random.pick([{ max_runs: random.between(1, 8) }, { ends_at: at }, { starts_at: at }])
}

function spread(random) {
  return random.weighted([
    [80, {}],
    [8, { jitter_seconds: random.between(1, 5) }],
    [12, { fire_window_seconds: random.between(2, 20) }],
  ])
}

function policies(random) {
  const overlap = random.weighted([
    [40, 'SKIP'],
    [25, 'ALLOW'],
    [20, 'QUEUE'],
    [15, 'REPLACE'],
  ])
  const missed = random.pick(['SKIP', 'RUN_ONCE', 'RUN_ALL'])
  return {
    missed_window: missed,
    ...(missed === 'RUN_ALL' ? { max_missed: random.between(1, 12) } : {}),
    ...(random.chance(0.2) ? { misfire_grace_seconds: random.between(5, 60) } : {}),
    overlap_policy: overlap,
    ...(overlap === 'ALLOW' && random.chance(0.5) ? { max_concurrent: random.between(1, 3) } : {}),
  }
}

const frequentMs = 5_000
/** Of a job one run goes on, one waits, and one may have to be done again: together they end within the time for draining. */
const longestMs = 6_000

/** Most runs are short; some take about as long as their period, so that they meet the next tick. */
function work(random, periodMs) {
  const isFrequent = periodMs <= frequentMs
  const task = random.weighted([
    [82, 'quick'],
    [isFrequent ? 60 : 12, 'slow'],
    [6, 'flaky'],
  ])
  const ms = isFrequent
    ? random.between(periodMs * 0.6, Math.min(periodMs * 2.2, longestMs))
    : random.between(200, longestMs)
  const retries = { max_retries: task === 'flaky' ? random.between(0, 2) : 3, retry_backoff: 'fixed' }
  return { target: { type: 'task', task }, payload: task === 'slow' ? { ms } : null, ...retries }
}
