// Breaks Carillon on purpose and checks it from outside: real processes over a real Postgres, faults by one seed, four
// ledgers, and a checker that reads nothing else.
//   npm run chaos -- --minutes 5 --seed 1 [--faults kill,database-fast] [--json]; --help says more
// Progress and a table go to stderr, with --json one line to stdout; the exit code is 1 when an invariant breaks.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { check } from './checker/check.mjs'
import { readLedgers } from './checker/read.mjs'
import { ApiClient } from './client.mjs'
import { drift, monotonicToWall, now } from './clock.mjs'
import { exportLedger } from './export.mjs'
import { faults } from './faults/index.mjs'
import { compare, drain, measure } from './health.mjs'
import { Interventions } from './interventions.mjs'
import { Nemesis } from './nemesis.mjs'
import { Observer } from './observer.mjs'
import { readOptions } from './options.mjs'
import { Orders } from './orders.mjs'
import { Random } from './random.mjs'
import { resultOf, table } from './report.mjs'
import { overloadSeconds, setUp } from './stage.mjs'
import { verify } from './verify.mjs'

const warmUpMs = 5_000
const callsPerSecond = 4
const callsBesidePerSecond = 2
const begun = now()
const say = (line) => process.stderr.write(`${((now() - begun) / 1000).toFixed(1).padStart(7)} s  ${line}\n`)
const options = readOptions()
if (options.list) {
  process.stdout.write(`${[...faults.keys()].join('\n')}\n`)
  process.exit(0)
}
const undo = []
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => void leave().finally(() => process.exit(130)))
try {
  process.exitCode = options.check === null ? await run() : await judge(options.check)
} finally {
  await leave()
}

/** Ends what was started, the last first, however far it got. */
async function leave() {
  for (const end of undo.splice(0).reverse()) await end()
}

async function run() {
  const random = new Random(options.seed)
  const stage = await setUp(options, random.fork(), say, undo)
  const observer = new Observer(stage.postgres)
  const { context, client, beside, nemesis, aside } = prepare(stage, observer, random)
  if (!(await observer.settled(context.schedulers, 60_000)))
    throw new Error('The schedulers did not share the partitions.')
  await wait(warmUpMs)
  const before = await measure(observer, stage.fleet)
  const raged = now()
  const until = raged + options.minutes * 60_000
  const progress = setInterval(() => void tell(observer, nemesis, until), 15_000)
  let over = false
  const raging = (options.once ? nemesis.rageOnce() : nemesis.rage(until)).finally(() => (over = true))
  const meddling = beside.map((one) => one.meddle(() => over, callsBesidePerSecond))
  await Promise.all([raging, client.meddle(() => over, callsPerSecond), ...meddling])
  clearInterval(progress)
  for (const end of aside) await end()
  await stage.fleet.heal()
  await client.leave()
  say('no more faults; draining')
  const end = Math.floor(now() + stage.postgres.clock.shiftMs)
  // The load alone has a tick for each of its jobs in each second: fewer means that jobs are not judged.
  const leastTicks = Math.max(1, Math.floor((options.rate * (now() - raged)) / 1_000))
  const busy = stage.jobs.flatMap((job) => (job.busy ? [job.name] : []))
  const { ms: drainMs, left } = await drain(observer, { end, busy })
  const sizes = await compare(observer, stage.fleet, before)
  stage.journals.nemesis.append({ health: { drainMs, left, sizes }, at: now() })
  const verified = await verify(stage.postgres.url, end - Math.floor(now() - begun) - 60_000, end)
  stage.journals.nemesis.append({ verify: verified, at: now() })
  say('writing the ledger out')
  stage.journals.nemesis.append({ exported: true, at: now() })
  await stage.postgres.with((ledger) => exportLedger(ledger, stage.folder))
  await observer.close()
  writeSettings(stage, nemesis, { end, leastTicks })
  await leave()
  say('comparing with the oracle')
  const code = await judge(stage.folder)
  if (code === 0 && !options.keep) rmSync(stage.folder, { recursive: true, force: true })
  else say(`all ledgers stay in ${stage.folder}; judge them again with --check ${stage.folder}`)
  return code
}

function prepare(stage, observer, random) {
  const members = stage.fleet.with('api')
  const client = new ApiClient({
    members,
    jobs: stage.jobs,
    random: random.fork(),
    journal: stage.journals.client,
    receiverUrl: stage.receiver.url,
  })
  const aside = []
  const context = {
    ...stage,
    seed: options.seed,
    leastKills: options.leastKills,
    leastRestarts: options.leastRestarts,
    journal: stage.journals.nemesis,
    observer,
    client,
    say,
    random: random.fork(),
    aside: (end) => aside.push(end),
    schedulers: stage.fleet.with('scheduler').length,
    ttlMs: options.ttlSeconds * 1_000,
    runLeaseMs: options.runLeaseSeconds * 1_000,
    lateMs: options.lateSeconds * 1_000,
    blockMs: options.runLeaseSeconds * 1_000 + 1_000,
    calmMs: [0, options.calmSeconds * 1_000],
  }
  return {
    context,
    client,
    beside: besideOf(stage, random),
    aside,
    nemesis: new Nemesis(context, options.faults),
  }
}

/** Who asks for things beside the schedule; not of an earlier build, which may not know of them. */
function besideOf({ fleet, jobs, journals, postgres }, random) {
  if (options.from !== null || options.mix === 0) return []
  const members = fleet.with('api')
  const databaseNow = () => Math.floor(now() + postgres.clock.shiftMs)
  const told = { members, jobs, journal: journals.client, postgres, databaseNow }
  return [
    new Interventions({ ...told, random: random.fork() }),
    new Orders({ ...told, random: random.fork() }),
  ]
}

/** What the checker has to know of the run besides what happened. */
function writeSettings({ folder, calendars }, { skipped }, { end, leastTicks }) {
  const settings = {
    seed: options.seed,
    mutant: options.mutant,
    skipped,
    end,
    calendars,
    monotonicToWall,
    driftMs: drift(),
    ttlMs: options.ttlSeconds * 1_000,
    runLeaseMs: options.runLeaseSeconds * 1_000,
    lateMs: options.lateSeconds * 1_000,
    overloadMs: overloadSeconds * 1_000,
    leastTicks,
    leastKills: options.leastKills,
    leastRestarts: options.leastRestarts,
  }
  writeFileSync(join(folder, 'settings.json'), JSON.stringify(settings))
}

async function judge(folder) {
  const ledgers = await readLedgers(folder)
  const { verdict, figures } = await check(ledgers)
  const result = resultOf({ ...ledgers, verdict, figures })
  process.stderr.write(`${table(result, verdict)}\n`)
  if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
  return verdict.isClean ? 0 : 1
}

/** A line now and then, so that somebody who looks sees it live. */
async function tell(observer, nemesis, until) {
  const rows = await observer.ask(
    `SELECT (SELECT count(*)::int FROM carillon.queue) AS queued,
            (SELECT count(*)::int FROM carillon.queue WHERE available_at < carillon.now_ms() - 1000) AS late`,
  )
  const total = Object.values(nemesis.made).reduce((sum, count) => sum + count, 0)
  const left = Math.max(0, Math.round((until - now()) / 1000))
  say(
    `${left} s left: ${total} faults, ${rows === null ? 'no answer' : `${rows[0].queued} runs in the queue, ${rows[0].late} late`}`,
  )
}
