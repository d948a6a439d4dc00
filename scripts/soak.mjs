// The soak: three schedulers and two workers over one real Postgres, jobs of every kind, and everything that can go
// wrong with processes, by one seed. At the end the fleet heals and drains, and every tick must be accounted for.
//   npm run soak -- --minutes 10 --jobs 5000 --seed 1 [--json] [--keep]
// Progress and a table go to stderr, with --json one line to stdout; the exit code is 1 on a violation.
import { rmSync } from 'node:fs'
import { loadavg } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { accountOf } from './soak/accounting.mjs'
import { drain } from './soak/drain.mjs'
import { judgeExecution } from './soak/execution.mjs'
import { Expectation } from './soak/expected.mjs'
import { Meddler } from './soak/meddler.mjs'
import { Nemesis } from './soak/nemesis.mjs'
import { withClient } from './soak/postgres.mjs'
import { Random } from './soak/random.mjs'
import { readEvidence, readRecords } from './soak/records.mjs'
import { lateness, table, takeoverFigures } from './soak/report.mjs'
import { refusedByEpoch } from './soak/scrape.mjs'
import { setUp } from './soak/stage.mjs'
import { Takeovers } from './soak/takeovers.mjs'
import { verify } from './soak/verify.mjs'

const begun = Date.now()
const say = (line) =>
  process.stderr.write(`${((Date.now() - begun) / 1000).toFixed(0).padStart(5)} s  ${line}\n`)
const options = readOptions()
const random = new Random(options.seed)
const undo = []
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => void leave().finally(() => process.exit(130)))
let stage
try {
  stage = await setUp(options, random.fork(), say, undo)
  const result = await soak()
  process.stderr.write(`${table(result)}\n`)
  if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
  const bad = Object.values(result.violations).some((list) => list.length > 0)
  if (bad) say(`the output of the processes stays in ${stage.folder}`)
  else if (!options.keep) rmSync(stage.folder, { recursive: true, force: true })
  process.exitCode = bad ? 1 : 0
} finally {
  await leave()
}

/** Ends what was started, the last first, however far it got. */
async function leave() {
  for (const end of undo.splice(0).reverse()) await end()
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      jobs: { type: 'string', default: '5000' },
      seed: { type: 'string', default: '1' },
      at: { type: 'string' },
      ttl: { type: 'string', default: '10' },
      late: { type: 'string', default: '15' },
      calm: { type: 'string', default: '3' },
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
    },
  })
  const number = (name) => {
    const value = Number(values[name])
    if (Number.isFinite(value) && value > 0) return value
    console.error(`--${name} takes a number above 0, and was given "${values[name]}".`)
    process.exit(2)
  }
  return {
    minutes: number('minutes'),
    jobs: number('jobs'),
    seed: number('seed'),
    at: values.at === undefined ? undefined : Date.parse(values.at),
    ttlSeconds: number('ttl'),
    lateSeconds: number('late'),
    calmSeconds: number('calm'),
    json: values.json,
    keep: values.keep,
  }
}

async function soak() {
  return withClient(stage.postgres.url, (watching) =>
    withClient(stage.postgres.url, async (client) => {
      const { fleet, offsetMs } = stage
      const takeovers = new Takeovers(watching)
      const nemesis = new Nemesis({
        fleet,
        takeovers,
        random: random.fork(),
        ttlMs: options.ttlSeconds * 1000,
        lateMs: options.lateSeconds * 1000,
        calmMs: [0, options.calmSeconds * 1000],
        say,
      })
      const meddler = new Meddler({
        url: fleet.desk.url,
        jobs: stage.jobs,
        random: random.fork(),
        perSecond: 4,
      })
      say(`the client of the API can ${(await meddler.look()).join(', ')}`)
      if (!(await takeovers.settled(3, 60_000)))
        throw new Error('The schedulers did not share the partitions.')
      const from = Date.now()
      const until = from + stage.lengthMs
      const progress = new AbortController()
      void tell(client, nemesis, until, progress.signal)
      await Promise.all([nemesis.rage(until), meddler.meddle(until)])
      progress.abort()
      await fleet.heal()
      await meddler.leave()
      const end = Date.now() + offsetMs
      say('healed; draining')
      const busy = stage.jobs.flatMap((job) => (job.busy ? [job.name] : []))
      const left = await drain(client, { end, busy, say })
      const refused = await refusedByEpoch(fleet)
      return judge({ client, from: from + offsetMs, end, left, refused, nemesis, meddler, takeovers })
    }),
  )
}

async function judge({ client, from, end, left, refused, nemesis, meddler, takeovers }) {
  const { offsetMs, calendars, fleet, folder, jobs } = stage
  say('reading what became of it')
  const records = await readRecords(client)
  const first = Math.min(...records.jobs.map((job) => job.effective_from))
  const verified = await verify(stage.postgres.url, first, end)
  say('comparing with the oracle')
  const { total, faults } = accountOf(records, new Expectation({ from: first, to: end, calendars }), end)
  const execution = judgeExecution(records, readEvidence(folder), fleet.deaths, offsetMs)
  const takeover = takeoverFigures(takeovers.seen)
  return {
    seed: options.seed,
    jobs: jobs.length,
    kinds: countBy(jobs, ({ kind }) => kind),
    from: new Date(from).toISOString(),
    to: new Date(end).toISOString(),
    seconds: Math.round((end - from) / 1000),
    load: loadavg().map((load) => Math.round(load * 10) / 10),
    faults: nemesis.made,
    api: meddler.done,
    ticks: total,
    lateness: lateness(records.ledger),
    takeover,
    refused_by_epoch: refused,
    verify: verified,
    violations: {
      ...faults,
      ...execution,
      not_drained: left,
      not_settled: nemesis.unsettled > 0 ? [`${nemesis.unsettled} times`] : [],
      api_failed: meddler.failures,
      verify:
        verified === null || (verified.unaccounted === 0 && verified.doubled === 0)
          ? []
          : [JSON.stringify(verified)],
    },
  }
}

function countBy(items, nameOf) {
  const counts = {}
  for (const item of items) counts[nameOf(item)] = (counts[nameOf(item)] ?? 0) + 1
  return counts
}

/** A line every ten seconds, so that somebody who looks sees it live. */
async function tell(client, nemesis, until, signal) {
  while (!signal.aborted) {
    await wait(10_000, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    const { rows } = await client.query(
      `SELECT (SELECT count(*)::int FROM carillon.ledger WHERE final) AS closed,
              (SELECT count(*)::int FROM carillon.queue) AS queued,
              (SELECT count(*)::int FROM carillon.replays WHERE state = 'running') AS replays`,
    )
    const leftS = Math.max(0, Math.round((until - Date.now()) / 1000))
    const made = Object.values(nemesis.made).reduce((sum, count) => sum + count, 0)
    const { closed, queued, replays } = rows[0]
    say(`${leftS} s left: ${made} faults, ${closed} closed, ${queued} in the queue, ${replays} replays`)
  }
}
