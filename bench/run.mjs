// npm run bench -- NAME… [--json] [--n N] [--seconds S] [--rate R] [--repeats K] [--peers a,b|none] [--set NAME=VALUE]
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inHouse } from './lib/house.mjs'
import { wrongIn } from './lib/compare.mjs'
import { stolenMark, stolenSince } from './lib/cpu.mjs'
import { lookAtMachine, withStolen } from './lib/machine.mjs'
import { isDear } from './lib/memory.mjs'
import { commandOf, optionsOf, usage } from './lib/options.mjs'
import { progressDone, say } from './lib/progress.mjs'
import { table as comparison } from './lib/table.mjs'
import { versionsOfPeers } from './peers/install.mjs'

/** Ours, the peers and the probe by turns; each module has `measure`, `score` and `defaults`. */
const compared = {
  'hot-second': () => import('./workloads/hot-second.mjs'),
  saturate: () => import('./workloads/saturate.mjs'),
  steady: () => import('./workloads/steady.mjs'),
  recurring: () => import('./workloads/recurring.mjs'),
  register: () => import('./workloads/register.mjs'),
  webhook: () => import('./workloads/webhook.mjs'),
  scale: () => import('./workloads/scale.mjs'),
  failover: () => import('./workloads/failover.mjs'),
  'in-flight': () => import('./workloads/in-flight.mjs'),
  soak: () => import('./workloads/soak.mjs'),
}
/** Parts of ours, alone; each module has `measure` and `table`. */
const alone = {
  fairness: () => import('./fairness.mjs'),
  'first-tick': () => import('./first-tick.mjs'),
  lanes: () => import('./lanes.mjs'),
  'old-snapshot': () => import('./old-snapshot.mjs'),
  time: () => import('./time.mjs'),
  wheel: () => import('./wheel.mjs'),
}

const options = optionsOf(process.argv.slice(2), Object.keys(compared), Object.keys(alone))
if (typeof options === 'string') {
  console.error(`bench: ${options}`)
  process.exit(2)
}
if (options.help) {
  console.log(usage(Object.keys(compared), Object.keys(alone)))
  process.exit(0)
}
const some = options.names.filter((name) => name in compared)
if (some.length > 0) {
  const machine = await lookAtMachine({ quick: options.smoke })
  machine.memory_filled = isDear(machine.fresh_page_us)
  await inHouse(
    async (house) => {
      machine.postgres = (await house.postgres()).version
      for (const name of some) await sideBySide(house, machine, name)
    },
    {
      quick: options.smoke,
      workers: options.workers,
      profile: options.profile,
      fillMemory: machine.memory_filled,
    },
  )
}
for (const name of options.names.filter((each) => each in alone)) {
  const { measure, table } = await alone[name]()
  const figures = await measure({ n: options.n?.[0], seconds: options.seconds })
  show(figures, table(figures))
}

async function sideBySide(house, machine, name) {
  const { measure, defaults, smoke, score } = await compared[name]()
  const mark = stolenMark()
  const figures = await measure({
    repeats: 3,
    ...defaults,
    ...(options.smoke && smoke),
    ...options,
    house,
    quick: options.smoke,
  })
  const versions = versionsOfPeers()
  const all = {
    ...figures,
    machine: {
      ...withStolen(machine, stolenSince(mark)),
      ...(house.redisVersion !== undefined && { redis: house.redisVersion }),
      peers: Object.fromEntries(Object.keys(figures.peers).map((peer) => [peer, versions[peer]])),
    },
    command: commandOf(process.argv.slice(2)),
  }
  show(all, comparison(all, score))
  if (options.out !== undefined) keep(options.out, all)
}

/** One line of JSON for each workload, or a table. What was lost or doubled is told by the exit code. */
function show(figures, text) {
  progressDone()
  console.log(options.json ? JSON.stringify(figures) : text)
  const wrong = wrongIn(figures)
  if (wrong === null) return
  say(`bench: ${wrong}: this must not be`)
  process.exitCode = 1
}

/** For `npm run bench:report`, which makes the charts and tables of the documents from these. */
function keep(folder, figures) {
  mkdirSync(folder, { recursive: true })
  const one =
    figures.cases === undefined ? ['n', 'rate'].filter((name) => typeof figures[name] === 'number') : []
  const file = join(
    folder,
    `${[figures.workload, ...one.map((name) => name + figures[name])].join('-')}.json`,
  )
  writeFileSync(file, `${JSON.stringify(figures, null, 2)}\n`)
  say(`kept in ${file}`)
}
