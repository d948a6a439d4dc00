// Which processes used how much of the machine. Only Linux tells; elsewhere every figure is null.
import { readdirSync, readFileSync } from 'node:fs'
import { now, round } from './figures.mjs'

const ticksPerSecond = 100
const linux = process.platform === 'linux'

/** Starts counting. `groups`: names of groups and the process ids that head their trees. */
export function cpuMark(groups) {
  return { at: now(), groups, used: usedBy(groups), self: selfSeconds(), busy: busySeconds() }
}

/** Cores that each group used on average since the mark; `other` is what nobody of ours used. */
export function cpuSince(mark) {
  if (!linux) return null
  const seconds = (now() - mark.at) / 1000
  const used = usedBy(mark.groups)
  const cores = {}
  let ours = selfSeconds() - mark.self
  for (const name of Object.keys(mark.groups)) {
    const spent = Math.max(0, used[name] - mark.used[name])
    ours += spent
    cores[name] = round(spent / seconds, 2)
  }
  cores.other = round(Math.max(0, busySeconds() - mark.busy - ours) / seconds, 2)
  return cores
}

/** Microseconds of CPU that each group spent for each of so many pieces of work since the mark; `client` is this process. */
export function cpuEach(mark, pieces) {
  if (!linux) return null
  const used = usedBy(mark.groups)
  const each = (seconds) => round((seconds / pieces) * 1e6)
  const groups = Object.keys(mark.groups).map((name) => [name, each(used[name] - mark.used[name])])
  return { ...Object.fromEntries(groups), client: each(selfSeconds() - mark.self) }
}

/** Cores in use by everybody, over a short look. */
export async function coresInUse(ms = 500) {
  if (!linux) return null
  const [at, before] = [now(), busySeconds() - selfSeconds()]
  await new Promise((resolve) => setTimeout(resolve, ms))
  return round(((busySeconds() - selfSeconds() - before) / (now() - at)) * 1000, 2)
}

/** Starts to count what the host keeps from this machine. */
export function stolenMark() {
  return linux ? cpuTimes() : null
}

/**
 * Percent of the time that work wanted a core since the mark in which the host gave the core to another machine: no process here shows it,
 * and every one is slower and later for it.
 */
export function stolenSince(mark) {
  return linux ? stolenBetween(mark, cpuTimes()) : null
}

export function stolenBetween(before, after) {
  const since = (state) => after[state] - before[state]
  const got = ['user', 'nice', 'system', 'irq', 'softirq'].reduce((sum, state) => sum + since(state), 0)
  const stolen = since('steal')
  return got + stolen <= 0 ? 0 : round((100 * stolen) / (got + stolen))
}

export function residentMb(pid) {
  try {
    const [, kb] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Math.round(Number(kb) / 1024)
  } catch {
    return null
  }
}

function usedBy(groups) {
  if (!linux) return {}
  const processes = readProcesses()
  return Object.fromEntries(
    Object.entries(groups).map(([name, pids]) => [
      name,
      pids.reduce((sum, pid) => sum + treeSeconds(pid, processes), 0),
    ]),
  )
}

/** A process, the children it has, and those it had. */
function treeSeconds(pid, processes) {
  const head = processes.get(pid)
  if (head === undefined) return 0
  let seconds = head.own + head.ended
  for (const [child, { parent }] of processes) if (parent === pid) seconds += treeSeconds(child, processes)
  return seconds
}

function readProcesses() {
  const processes = new Map()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const line = readFileSync(`/proc/${name}/stat`, 'utf8')
      const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
      const seconds = (at) => Number(fields[at]) / ticksPerSecond
      processes.set(Number(name), {
        parent: Number(fields[1]),
        own: seconds(11) + seconds(12),
        ended: seconds(13) + seconds(14),
      })
    } catch {
      // Ended meanwhile.
    }
  }
  return processes
}

function selfSeconds() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

function busySeconds() {
  if (!linux) return 0
  const { user, nice, system, irq, softirq, steal } = cpuTimes()
  return (user + nice + system + irq + softirq + steal) / ticksPerSecond
}

/** Clock ticks of all cores together, each state by its name in proc_stat(5). */
function cpuTimes() {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const [user, nice, system, idle, iowait, irq, softirq, steal] = line
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number)
  return { user, nice, system, idle, iowait, irq, softirq, steal }
}
