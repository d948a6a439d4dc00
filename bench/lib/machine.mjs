// The machine and what else it does: a figure means nothing without them.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { coresInUse } from './cpu.mjs'
import { round } from './figures.mjs'
import { freshPageUs } from './memory.mjs'
import { shout } from './progress.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Cores that others may use before figures are doubtful. */
const tolerated = 0.3
/** Percent of what was wanted that the host may keep before they are. */
const toleratedStolen = 3

/** `quick`: for a smoke run, whose figures are for nobody: no memory is touched for it. */
export async function lookAtMachine({ quick = false } = {}) {
  const other = await coresInUse()
  const machine = {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memory_gb: Math.round(totalmem() / 2 ** 30),
    os: osName(),
    node: process.version,
    carillon: JSON.parse(readFileSync(`${root}packages/cli/package.json`, 'utf8')).version,
    commit: commit(),
    date: new Date().toISOString().slice(0, 19).concat('Z'),
    load_average: round(loadavg()[0]),
    other_cores: other,
    fresh_page_us: quick ? null : freshPageUs(),
    // The load average still tells of what ended a minute ago: it decides only where nothing better is known.
    busy: other === null ? loadavg()[0] > cpus().length : other > tolerated,
  }
  if (machine.busy)
    shout(
      `THE MACHINE IS BUSY: others use ${other ?? '?'} of ${machine.cores} cores, load average ${machine.load_average}. ` +
        'Figures are too low and lags too high; compare only what alternates in this run.',
    )
  return machine
}

/** What was found before the run, with what the host kept during it. Doubtful is what either makes so. */
export function withStolen(machine, stolen) {
  return { ...machine, stolen, busy: machine.busy || (stolen ?? 0) > toleratedStolen }
}

function osName() {
  try {
    const [, name] = /^PRETTY_NAME="(.+)"$/m.exec(readFileSync('/etc/os-release', 'utf8')) ?? []
    if (name !== undefined) return `${name}, ${arch()}`
  } catch {
    // Not a Linux.
  }
  return `${platform()} ${release()}, ${arch()}`
}

function commit() {
  try {
    const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
    const head = git('rev-parse', '--short', 'HEAD')
    return git('status', '--porcelain', '--', 'packages', 'bench') === '' ? head : `${head} with changes`
  } catch {
    return null
  }
}
