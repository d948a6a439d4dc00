// What a run is told on the command line.
import { parseArgs } from 'node:util'

const usage = `npm run chaos -- [options]
  --minutes M    how long things go wrong (5)
  --once         each fault once, for as long as that takes, instead of --minutes
  --seed S       what goes wrong, in which order (1)
  --kills N, --restarts N   at least so many processes killed and restarts of the database, or the run is red (0, 0)
  --faults a,b   only these faults; --list names them all
  --fleet SIZE   full: eight processes; small: five (full)
  --rate N       jobs that run every second (1000)
  --http SHARE   of them so many are delivered over HTTP, the others are tasks (0.2)
  --mix N        jobs of every other kind of schedule and policy (300)
  --at INSTANT   where the database's clock begins; otherwise Europe's clocks change in the middle
  --ttl S, --run-lease S, --late S   the leases and the tolerance of the processes (3, 6, 10)
  --calm S       the longest pause between two faults (1)
  --from COMMIT  begin with processes of this earlier commit, and upgrade them while they run
  --mutant NAME  processes of a test build with this guard removed
  --keep         keep the folder with all ledgers
  --check DIR    only judge the ledgers of a run that was kept
  --json         one line of JSON on stdout`

/**
 * @typedef {{ minutes: number, seed: number, leastKills: number, leastRestarts: number, faults: string[] | null, rate: number, http: number, mix: number, at?: number,
 *   ttlSeconds: number, runLeaseSeconds: number, lateSeconds: number, calmSeconds: number,
 *   from: string | null, mutant: string | null, fleet: string, once: boolean, keep: boolean, check: string | null, json: boolean, list: boolean }} Options
 */

/** @returns {Options} */
export function readOptions() {
  const text = (value) => ({ type: 'string', ...(value !== undefined && { default: value }) })
  const flag = { type: 'boolean', default: false }
  const { values } = parseArgs({
    options: {
      minutes: text('5'),
      seed: text('1'),
      kills: text('0'),
      restarts: text('0'),
      faults: text(),
      rate: text('1000'),
      http: text('0.2'),
      mix: text('300'),
      at: text(),
      ttl: text('3'),
      'run-lease': text('6'),
      late: text('10'),
      calm: text('1'),
      from: text(),
      mutant: text(),
      check: text(),
      fleet: text('full'),
      once: flag,
      keep: flag,
      json: flag,
      list: flag,
      help: flag,
    },
  })
  if (values.help) {
    process.stdout.write(`${usage}\n`)
    process.exit(0)
  }
  const number = (name) => {
    const value = Number(values[name])
    if (Number.isFinite(value) && value >= 0) return value
    process.stderr.write(`--${name} takes a number, and was given "${values[name]}".\n`)
    process.exit(2)
  }
  return {
    minutes: number('minutes'),
    seed: number('seed'),
    leastKills: number('kills'),
    leastRestarts: number('restarts'),
    faults: values.faults?.split(',') ?? null,
    rate: number('rate'),
    http: number('http'),
    mix: number('mix'),
    at: values.at === undefined ? undefined : Date.parse(values.at),
    ttlSeconds: number('ttl'),
    runLeaseSeconds: number('run-lease'),
    lateSeconds: number('late'),
    calmSeconds: number('calm'),
    from: values.from ?? null,
    mutant: values.mutant ?? null,
    check: values.check ?? null,
    fleet: values.fleet,
    once: values.once,
    keep: values.keep,
    json: values.json,
    list: values.list,
  }
}
