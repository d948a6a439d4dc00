// The full proof of the time engine: every zone, every clock change from 1970 to 2037, a set of rules around each,
// every policy, the built engine against the brute-force oracle. It takes a while.
//   node scripts/time-sweep.mjs [--zones Europe/Madrid,Asia/Amman] [--workers 2] [--json]
// Progress goes to stderr, the result to stdout; the exit code is 1 if anything differs.
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { disagreement } from '../packages/server/test/oracle/compare.mjs'
import { cronDropped, cronTicks, lookAround } from '../packages/server/test/oracle/views.mjs'
import { rulesAround } from '../packages/server/test/oracle/sweep-rules.mjs'
import { HOUR, transitions } from '../packages/server/test/oracle/wall-clock.mjs'

const enginePath = new URL('../packages/server/dist/time/schedule.js', import.meta.url)
// The windows reach over a day to each side: the first of them must not begin before 1970.
const begin = Date.UTC(1970, 0, 4)
const end = Date.UTC(2038, 0, 1)
const reach = 26 * HOUR
const mismatchesKept = 20
const policies = ['run_after', 'skip'].flatMap((dst_gap) =>
  ['first', 'last', 'both'].map((dst_overlap) => ({ dst_gap, dst_overlap })),
)

if (isMainThread) await main()
else await serve()

async function main() {
  const { values } = parseArgs({
    options: { zones: { type: 'string' }, workers: { type: 'string' }, json: { type: 'boolean' } },
  })
  if (!existsSync(enginePath)) {
    console.error('The engine is not built. Run "npm run build" first.')
    process.exit(2)
  }
  const zones = values.zones?.split(',') ?? Intl.supportedValuesOf('timeZone')
  const unknown = zones.find((zone) => !isZone(zone))
  if (unknown !== undefined) {
    console.error(`This Node knows no zone "${unknown}". --zones takes IANA names with commas between them.`)
    process.exit(2)
  }
  const workers = Math.min(zones.length, Number(values.workers ?? availableParallelism()))
  const result = await sweep(zones, workers)
  console.log(values.json ? JSON.stringify(result) : summary(result))
  process.exit(result.mismatch_count === 0 ? 0 : 1)
}

function isZone(zone) {
  try {
    return Boolean(new Intl.DateTimeFormat('en-US', { timeZone: zone }))
  } catch {
    return false
  }
}

async function sweep(zones, workers) {
  const begun = performance.now()
  const waiting = [...zones]
  const total = { zones: 0, transitions: 0, cases: 0, ticks: 0, mismatch_count: 0, mismatches: [] }
  await Promise.all(
    Array.from({ length: workers }, async () => {
      const worker = new Worker(new URL(import.meta.url))
      for (let zone = waiting.shift(); zone !== undefined; zone = waiting.shift()) {
        add(total, await ask(worker, zone))
        report(total, zones.length, (performance.now() - begun) / 1000)
      }
      await worker.terminate()
    }),
  )
  const { node, icu, tz } = process.versions
  const seconds = Math.round((performance.now() - begun) / 1000)
  return { date: new Date().toISOString().slice(0, 10), seconds, versions: { node, icu, tz }, ...total }
}

function ask(worker, zone) {
  return new Promise((resolve, reject) => {
    worker.once('error', reject)
    worker.once('message', (result) => {
      worker.off('error', reject)
      resolve(result)
    })
    worker.postMessage(zone)
  })
}

function add(total, { mismatches, ...counts }) {
  total.zones++
  for (const [name, count] of Object.entries(counts)) total[name] += count
  total.mismatches.push(...mismatches.slice(0, mismatchesKept - total.mismatches.length))
}

function report({ zones, transitions, mismatch_count }, all, seconds) {
  const minutesLeft = Math.ceil(((seconds / zones) * (all - zones)) / 60)
  const line = `${zones}/${all} zones, ${transitions} clock changes, ${mismatch_count} mismatches, ${minutesLeft} min left`
  process.stderr.write(process.stderr.isTTY ? `\r${line}\u001B[K` : `${line}\n`)
}

function summary({ zones, transitions, cases, ticks, mismatch_count, mismatches, seconds, versions }) {
  const lines = mismatches.map((mismatch) => `✗ ${JSON.stringify(mismatch)}`)
  const counts = `${zones} zones, ${transitions} clock changes, ${cases} cases, ${ticks} ticks: ${mismatch_count} mismatches`
  return [...lines, `${counts} (${seconds} s, zone data ${versions.tz}, Node ${versions.node})`].join('\n')
}

/** One worker: a zone in, its counts out. */
async function serve() {
  const { parseSchedule } = await import(fileURLToPath(enginePath))
  parentPort.on('message', (zone) => parentPort.postMessage(sweepZone(zone, parseSchedule)))
}

function sweepZone(zone, parseSchedule) {
  const result = { transitions: 0, cases: 0, ticks: 0, mismatch_count: 0, mismatches: [] }
  for (const transition of transitions(zone, begin, end)) {
    result.transitions++
    const view = lookAround(zone, transition.at - reach, transition.at + reach)
    for (const rule of rulesAround(transition)) {
      for (const policy of policies)
        judge(result, { zone, view, rule, policy, at: transition.at }, parseSchedule)
    }
  }
  return result
}

function judge(result, { zone, view, rule, policy, at }, parseSchedule) {
  const expected = cronTicks(view, rule.matcher, policy)
  result.cases++
  result.ticks += expected.length
  let difference
  try {
    const schedule = parseSchedule({ schedule: rule.text, timezone: zone, anchor: 0, ...policy })
    difference = disagreement(schedule, expected, view.from, view.to, [at - 1, at])
    difference ??= droppedOtherwise(schedule, view, rule, policy)
  } catch (error) {
    difference = String(error)
  }
  if (difference === null) return
  result.mismatch_count++
  if (result.mismatches.length >= mismatchesKept) return
  const where = { zone, clock_change: new Date(at).toISOString() }
  result.mismatches.push({ ...where, rule: rule.text, ...policy, difference })
}

/** Every wall time that a gap drops is reported, up to a hundred of them. */
function droppedOtherwise(schedule, view, rule, { dst_gap }) {
  const expected = dst_gap === 'skip' ? cronDropped(view, rule.matcher) : []
  const said = schedule.dropped(view.from - 1, view.to)
  const known = new Set(expected.map(({ at, wall }) => `${at} ${wall}`))
  const right = said.every(({ at, wall, reason }) => reason === 'dst_gap' && known.has(`${at} ${wall}`))
  if (right && said.length === Math.min(100, expected.length)) return null
  return `dropped: ${JSON.stringify(said.slice(0, 3))} (${said.length}) instead of ${JSON.stringify(expected.slice(0, 3))} (${expected.length})`
}
