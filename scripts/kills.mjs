// Workers killed with -9 in the middle of runs, again and again: every run must be closed once, and nothing delivered
// again that was not in flight at a kill.
//   npm run kills -- --minutes 5 --seed 1 [--jobs 50] [--json]
// Progress and figures go to stderr, with --json one line to stdout; the exit code is 1 on a violation.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { jobIdOf } from '../packages/server/dist/platform/ids.js'
import { judge } from './kills/judge.mjs'
import { listen } from './kills/receiver.mjs'
import { Member } from './soak/fleet.mjs'
import { openPostgres, withClient } from './soak/postgres.mjs'
import { Random } from './soak/random.mjs'

const slowestMs = 1_500
const begun = Date.now()
const say = (line) =>
  process.stderr.write(`${((Date.now() - begun) / 1000).toFixed(0).padStart(5)} s  ${line}\n`)
const options = readOptions()
const random = new Random(options.seed)
const undo = []
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => void leave().finally(() => process.exit(130)))
try {
  const result = { seed: options.seed, minutes: options.minutes, jobs: options.jobs, ...(await run()) }
  for (const [name, value] of Object.entries(result)) {
    if (name !== 'violations') process.stderr.write(`${name.padEnd(24)} ${JSON.stringify(value)}\n`)
  }
  const bad = Object.entries(result.violations).filter(([, list]) => list.length > 0)
  for (const [name, list] of bad)
    process.stderr.write(`VIOLATION ${name}: ${list.length}, e.g. ${list.slice(0, 3).join(', ')}\n`)
  if (bad.length === 0) process.stderr.write('no violation\n')
  if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
  process.exitCode = bad.length > 0 ? 1 : 0
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
      minutes: { type: 'string', default: '5' },
      jobs: { type: 'string', default: '50' },
      seed: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
    },
  })
  const number = (name) => {
    const value = Number(values[name])
    if (Number.isFinite(value) && value > 0) return value
    console.error(`--${name} takes a number above 0, and was given "${values[name]}".`)
    process.exit(2)
  }
  return { minutes: number('minutes'), jobs: number('jobs'), seed: number('seed'), json: values.json }
}

async function run() {
  const { desk, workers, receiver, url } = await setUp()
  return withClient(url, async (client) => {
    await serverIsOld(client)
    const end = Date.now() + options.minutes * 60_000
    await register(desk.url, receiver.url, end)
    const kills = []
    say(
      `${options.jobs} jobs run every second for ${options.minutes} minutes; one worker after another is killed`,
    )
    while (Date.now() < end) {
      await wait(random.between(500, 3_000))
      kills.push(await kill(client, random.pick(workers)))
      if (kills.length % 10 === 0) say(`${kills.length} kills, ${receiver.deliveries.length} deliveries`)
    }
    say('no more kills; draining')
    const open = await drained(client)
    return judge({ deliveries: receiver.deliveries, ledger: await readLedger(client), open, kills })
  })
}

async function setUp() {
  const postgres = await openPostgres()
  undo.push(() => postgres.close())
  const folder = mkdtempSync(join(tmpdir(), 'carillon-kills-'))
  undo.push(async () => rmSync(folder, { recursive: true, force: true }))
  const receiver = await listen(random.fork(), slowestMs)
  undo.push(() => receiver.close())
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('CARILLON_'))
  const env = {
    ...Object.fromEntries(own),
    DATABASE_URL: postgres.url,
    CARILLON_MIN_INTERVAL_SECONDS: '1',
    CARILLON_ALLOWED_NETWORKS: '127.0.0.0/8',
    CARILLON_LEASE_TTL_SECONDS: '5',
    SOAK_EVIDENCE: folder,
    CARILLON_LOG_FORMAT: 'json',
  }
  const shared = { env, folder, onDeath: () => undefined, isOver: () => false }
  const desk = new Member('desk', ['api', 'scheduler'], shared)
  const workers = [1, 2, 3].map((at) => new Member(`worker-${at}`, ['worker'], shared))
  for (const member of [desk, ...workers]) {
    await member.start()
    undo.push(async () => member.child && (await member.kill()))
  }
  return { desk, workers, receiver, url: postgres.url }
}

/** From then on the lost connection of a process tells of its death. */
async function serverIsOld(client) {
  for (;;) {
    const { rows } = await client.query("SELECT now() - pg_postmaster_start_time() > interval '6 s' AS old")
    if (rows[0].old) return
    await wait(200)
  }
}

async function register(url, receiver, end) {
  for (let at = 0; at < options.jobs; at++) {
    await call(url, 'POST', '/api/v1/jobs', {
      name: `job-${at}`,
      schedule: '* * * * * *',
      ends_at: new Date(end).toISOString(),
      overlap_policy: 'ALLOW',
      missed_window: 'RUN_ALL',
      // A run may meet several kills; only kills use up attempts here.
      retry: { max_attempts: 20, backoff: 'fixed', base_ms: 100 },
      target: { type: 'http', url: receiver },
    })
  }
}

async function call(url, method, path, body) {
  const response = await fetch(`${url}${path}`, {
    method,
    ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(`${method} ${path} was refused: ${JSON.stringify(answer)}`)
  return answer
}

/** Kills it and reads what it had in flight, long before anybody takes that from the dead; then starts it anew. */
async function kill(client, worker) {
  const { pid } = worker
  const at = await worker.kill()
  const { rows } = await client.query(
    `SELECT j.id, q.due
     FROM carillon.queue q JOIN carillon.jobs j USING (job)
     JOIN carillon.incarnations i ON i.incarnation = q.holder
     WHERE i.pid = $1 AND i.state = 'alive' AND q.available_at <= carillon.now_ms()`,
    [pid],
  )
  await worker.start()
  return { at, inFlight: rows.map(tickName) }
}

/** What is left in the queue once there is nothing more to come. */
async function drained(client) {
  const deadline = Date.now() + 60_000
  for (;;) {
    const { rows } = await client.query(
      `SELECT j.id, q.due FROM carillon.queue q JOIN carillon.jobs j USING (job)`,
    )
    if (rows.length === 0 || Date.now() > deadline) return rows.map(tickName)
    await wait(200)
  }
}

async function readLedger(client) {
  const { rows } = await client.query(
    `SELECT j.id, l.due, l.final, l.outcome, l.attempt, l.token
     FROM carillon.ledger l JOIN carillon.jobs j USING (job) WHERE l.token IS NOT NULL`,
  )
  return rows.map((row) => ({ ...row, tick: tickName(row) }))
}

/** As the receiver names it. */
function tickName({ id, due }) {
  return `${jobIdOf(id)}@${new Date(due).toISOString()}`
}
