// The time engine on one core: next ticks from memory and computed afresh, the decision after a long outage, and what a
// million jobs on a thousand rules weigh.
import { parseSchedule } from '../packages/server/dist/time/schedule.js'
import { decideTick } from '../packages/server/dist/time/missed.js'

const zones = ['UTC', 'America/New_York', 'Europe/Madrid', 'Australia/Lord_Howe', 'Asia/Kathmandu']
const rules = [
  '0 9 * * 1',
  '*/5 * * * *',
  '30 2 * * *',
  '0 18 L * *',
  '15 6-20/2 * * MON-FRI',
  '0 14 * * MON#1',
]
const year = 31_557_600_000
const start = Date.UTC(2026, 0, 1)

export function measure({ n = 1_000_000 }) {
  const schedules = zones.flatMap((timezone) =>
    rules.map((schedule) => parseSchedule({ schedule, timezone, anchor: start })),
  )
  return Promise.resolve({
    workload: 'time',
    n,
    memoised_per_s: rate(n, (at) => schedules[at % schedules.length].next(start)),
    // Instants far apart and out of order: no answer is in memory.
    fresh_per_s: rate(n / 5, (at) =>
      schedules[at % schedules.length].next(start + ((at * 7_919 * 1_000_003) % (10 * year))),
    ),
    decisions_after_ten_years_per_s: rate(n / 100, decideTenYears()),
    memory: memory(n),
    lost: 0,
    doubled: 0,
    early: 0,
  })
}

export function table({
  n,
  memoised_per_s: memoised,
  fresh_per_s: fresh,
  decisions_after_ten_years_per_s: decisions,
  memory: held,
}) {
  const figure = (value) => Math.round(value).toLocaleString('en').padStart(14)
  return [
    `the time engine, one core, ${n.toLocaleString('en')} calls`,
    `${figure(memoised)}  next ticks a second, from memory`,
    `${figure(fresh)}  next ticks a second, computed`,
    `${figure(decisions)}  missed-run decisions a second, for every second of ten years`,
    `${figure(held.objects)}  schedules in memory for ${held.jobs.toLocaleString('en')} jobs on ${held.rules.toLocaleString('en')} rules`,
    `${figure(held.bytes_per_rule)}  bytes a rule`,
  ].join('\n')
}

function rate(calls, call) {
  for (let at = 0; at < 1_000; at++) call(at)
  const begun = performance.now()
  for (let at = 0; at < calls; at++) call(at)
  return calls / ((performance.now() - begun) / 1000)
}

function decideTenYears() {
  const schedule = parseSchedule({ schedule: '* * * * * *', timezone: 'Europe/Madrid', anchor: start })
  const policy = { missedWindow: 'RUN_ONCE', maxMissed: 10, graceMs: null }
  return (at) =>
    decideTick({
      schedule,
      due: start + at * 1000,
      startAt: start + at * 1000,
      now: start + 10 * year,
      lateToleranceMs: 15_000,
      policy,
    })
}

function memory(jobs) {
  const count = 1_000
  const before = process.memoryUsage().heapUsed
  const distinct = new Set()
  for (let at = 0; at < jobs; at++) {
    const rule = at % count
    distinct.add(
      parseSchedule({
        schedule: `${rule % 60} ${Math.floor(rule / 60)} * * *`,
        timezone: 'Europe/Madrid',
        anchor: start,
      }),
    )
  }
  const bytes = Math.max(0, process.memoryUsage().heapUsed - before)
  return { jobs, rules: count, objects: distinct.size, bytes_per_rule: bytes / count }
}
