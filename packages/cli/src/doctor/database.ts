import type { ClusterFacts, MigrationStatus, ServerFacts } from '@carillon/server'
import { duration } from '../output/time.js'
import { type Check, fail, ok, skip, warn } from './check.js'

/** Verdicts over what a database says. Pure. */

const oldestPostgres = 140_000
const clockToleranceMs = 1_000

export function judgeVersion(facts: ServerFacts): Check {
  const says = `PostgreSQL ${facts.version}`
  if (facts.version_number < oldestPostgres) {
    return fail(
      'postgres',
      `${says} is too old: 14 is the oldest that works`,
      'Point DATABASE_URL at a newer one.',
    )
  }
  if (facts.standby) {
    return fail(
      'postgres',
      `${says} answers, but it is a standby, which takes no writes`,
      'Point DATABASE_URL at the primary.',
    )
  }
  return ok('postgres', `${says} answers`)
}

/** Whether what was acknowledged survives a power cut. */
export function judgeDurability(facts: ServerFacts): Check {
  const off = (['fsync', 'full_page_writes', 'synchronous_commit'] as const).filter(
    (name) => facts[name] === 'off',
  )
  if (off.length === 0) {
    return ok('durability', `fsync, full_page_writes on; synchronous_commit ${facts.synchronous_commit}`)
  }
  return fail(
    'durability',
    `${off.join(', ')} off: jobs and runs that were acknowledged can be lost in a crash`,
    `Turn on ${off.join(', ')} in postgresql.conf, or for this role and database where it was turned off there.`,
  )
}

export function judgeSchema({ current, newest, changed }: MigrationStatus): Check {
  if (current > newest) {
    return fail(
      'schema',
      `version ${current} was made by a newer Carillon; this one understands ${newest} at most and will not start`,
      'Run the newer version, or restore the backup from before the upgrade.',
    )
  }
  if (changed.length > 0) {
    return fail(
      'schema',
      `not made with the migrations of this Carillon: ${changed.join(', ')} differ`,
      'Check out the released files: a migration never changes.',
    )
  }
  if (current === newest) return ok('schema', `version ${current}, up to date`)
  return warn(
    'schema',
    current === 0 ? 'not there yet' : `version ${current} of ${newest}`,
    'carillon migrate, or the next carillon up, brings it up to date.',
  )
}

/** `ahead` is the database's clock minus this machine's. */
export function judgeClock(ahead: number): Check {
  const apart = duration(Math.abs(ahead))
  const says = `this machine's clock is ${apart} ${ahead > 0 ? 'behind' : 'ahead of'} the database's`
  if (Math.abs(ahead) <= clockToleranceMs) return ok('clock', says)
  return warn(
    'clock',
    `${says}. Only the database's clock decides when a tick is due, so nothing fires wrongly; logs will not line up`,
    'Let NTP or chrony set both clocks.',
  )
}

export function judgeProcesses({ processes }: ClusterFacts, ttlMs: number): Check {
  if (processes.length === 0) {
    return warn('processes', 'no process is alive: nothing fires and nothing runs', 'Start one: carillon up')
  }
  const silent = processes.filter((process) => process.silent_ms > ttlMs)
  const live = processes.filter((process) => process.silent_ms <= ttlMs)
  const names = (list: typeof processes) =>
    list.map((one) => `${one.node} on ${one.host}, pid ${one.pid} (${one.roles.join(', ')})`).join('; ')
  if (silent.length > 0) {
    return warn(
      'processes',
      `${live.length} alive; silent for more than ${duration(ttlMs)}: ${names(silent)}`,
      live.length > 0
        ? 'The others will declare it dead and take over; look again in a moment.'
        : 'Nobody is left to take over: start a process with carillon up.',
    )
  }
  const missing = ['scheduler', 'worker'].filter(
    (role) => !live.some((process) => process.roles.includes(role)),
  )
  if (missing.length > 0) {
    const means = missing
      .map((role) => (role === 'scheduler' ? 'nothing fires' : 'nothing runs'))
      .join(' and ')
    return warn(
      'processes',
      `no ${missing.join(' and no ')} is alive, so ${means}: ${names(live)}`,
      `Start one: carillon up ${missing.map((role) => `--role ${role}`).join(' ')}`,
    )
  }
  return ok('processes', `${live.length} alive: ${names(live)}`)
}

export function judgePartitions({ processes, unowned }: ClusterFacts, ttlMs: number): Check {
  const schedulers = processes.filter((one) => one.roles.includes('scheduler') && one.silent_ms <= ttlMs)
  if (schedulers.length === 0) return skip('partitions', 'no scheduler is alive to own them')
  if (unowned.length === 0) return ok('partitions', 'every partition has a live owner')
  return warn(
    'partitions',
    `${unowned.length} have no live owner: the ticks of their jobs wait`,
    'Normal for some seconds after a start or a crash. If it stays so, look into the logs of the schedulers.',
  )
}
