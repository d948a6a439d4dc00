import type { LoadedConfig } from '@carillon/server/config'
import { confirm } from '../confirm.js'
import { freeBytes } from '../doctor/machine.js'
import { payloadOf } from '../job-flags.js'
import type { Look } from '../output/look.js'
import type { Output } from '../output/output.js'
import { whenInZone } from '../output/time.js'
import { visible } from '../output/visible.js'
import { refused, UsageError } from '../usage.js'
import { withDatabase } from '../with-database.js'
import { checkRoom, farHost, jobOfOthers, liveNodes } from './guard.js'
import { countOf, inputOf, leadOf, periodOf, type SeedFlags, seedOwner } from './options.js'
import { removeSeeds, seedsOf } from './remove.js'
import { seedJobs } from './seed.js'
import { withSession } from './session.js'
import { Steps } from './steps.js'

/** `carillon bench seed`. */
export async function seed(config: LoadedConfig, output: Output, given: SeedFlags): Promise<void> {
  const flags = { ...given, ...(await payloadOf(given)) }
  const count = countOf(flags.n)
  const periodSeconds = periodOf(count, flags)
  const input = inputOf(flags, periodSeconds)
  await agree(config, flags, `Load ${count.toLocaleString('en')} jobs into`)
  if (config.databaseUrl === undefined) checkRoom(count, await freeBytes(config.dataDir))
  const server = await import('@carillon/server')
  const seeded = await withDatabase(config, output, async (database) => {
    await requireSchema(database)
    const beside = liveNodes((await server.inspectCluster(database)).processes).length > 0
    const tenant = flags.tenant ?? 'default'
    const template = await server.jobTemplate(config, database, { tenant, input }).catch((error: unknown) => {
      throw refused(error, { schedule: '--rate or --over', target: '--http' })
    })
    const steps = new Steps(output)
    return withSession(database.options.url, async (client) => {
      const other = flags.besideOthers ? null : await jobOfOthers(client)
      if (other !== null) throw new UsageError(othersLiveHere(other))
      if (beside) output.note('A server is running: indexes stay, and it takes some times as long.')
      const begun = performance.now()
      const firstTick =
        (await server.inspectServer(database)).now + leadOf(count, { firstIn: flags.firstIn, beside }) * 1000
      try {
        await seedJobs(client, {
          ...{ count, template, firstTick, beside, prefix: flags.name, periodMs: periodSeconds * 1000 },
          ...{ newUuid: server.newUuid, partitionOf: server.partitionOf },
          onProgress: (step, done, total) => steps.to(step, done, total),
        })
      } finally {
        steps.end()
      }
      return answer({ count, tenant, periodSeconds, firstTick, beside, tookMs: performance.now() - begun })
    })
  })
  output.result(seeded, () => seededText(seeded, output.look))
}

type Seeded = ReturnType<typeof answer>

function answer(made: {
  count: number
  tenant: string
  periodSeconds: number
  firstTick: number
  beside: boolean
  tookMs: number
}) {
  return {
    jobs: made.count,
    tenant: made.tenant,
    managed_by: seedOwner,
    period_seconds: made.periodSeconds,
    firings_per_second: Number((made.count / made.periodSeconds).toPrecision(6)),
    first_tick: new Date(made.firstTick).toISOString(),
    beside_servers: made.beside,
    took_seconds: Number((made.tookMs / 1000).toFixed(1)),
    jobs_per_second: Math.round((made.count / made.tookMs) * 1000),
  }
}

function seededText(seeded: Seeded, look: Look): string {
  const { jobs, took_seconds: took, jobs_per_second: rate, firings_per_second: firings } = seeded
  return (
    `${look.colors.green('✓')} ${jobs.toLocaleString('en')} jobs in ${took} s (${rate.toLocaleString('en')} a second), ` +
    `managed by ${seedOwner}\n` +
    `  Each fires every ${seeded.period_seconds} s, all together ${firings.toLocaleString('en')} a second; ` +
    `the first ${whenInZone(seeded.first_tick, look)}\n` +
    '  Take them away again, with no server running: carillon bench seed --remove\n'
  )
}

/** `carillon bench seed --remove`. */
export async function remove(config: LoadedConfig, output: Output, flags: SeedFlags): Promise<void> {
  const server = await import('@carillon/server')
  const removed = await withDatabase(config, output, async (database) => {
    await requireSchema(database)
    const [node] = liveNodes((await server.inspectCluster(database)).processes)
    if (node !== undefined) throw new UsageError(serversRun(node))
    return withSession(database.options.url, async (client) => {
      const seeds = await seedsOf(client, flags.tenant ?? null)
      const total = seeds.reduce((sum, { jobs }) => sum + jobs, 0)
      if (total > 0) await agree(config, flags, `Remove ${total.toLocaleString('en')} seeded jobs from`, true)
      const steps = new Steps(output)
      let before = 0
      try {
        for (const { tenant } of seeds)
          before += await removeSeeds(client, tenant, (jobs) => steps.to('removing', before + jobs, total))
        if (total > 0) await client.query('VACUUM (ANALYZE) carillon.jobs, carillon.timers, carillon.queue')
      } finally {
        steps.end()
      }
      return { removed: before }
    })
  })
  output.result(removed, () =>
    removed.removed === 0
      ? `Nothing was seeded here.\n`
      : `${output.look.colors.green('✓')} ${removed.removed.toLocaleString('en')} seeded jobs are gone; what ran of them stays in the history until its days are dropped\n`,
  )
}

/** Asks before anything is done to a database that others may use. */
async function agree(config: LoadedConfig, flags: SeedFlags, what: string, always = false): Promise<void> {
  const { databaseUrl } = config
  const far = databaseUrl === undefined ? null : farHost(databaseUrl)
  if (far === null && !always) return
  const name = databaseUrl === undefined ? config.dataDir : new URL(databaseUrl).pathname.slice(1)
  const where = `${visible(name)}${far === null ? '' : ` at ${visible(far)}`}`
  if (!(await confirm(`${what} ${where}?`, flags))) throw new Error('Nothing was done.')
}

/** An empty database is made ready; an old one is somebody's, who decides when it is brought up to date. */
async function requireSchema(database: Parameters<Parameters<typeof withDatabase>[2]>[0]): Promise<void> {
  const server = await import('@carillon/server')
  const { current, newest } = await server.inspectSchema(database)
  if (current === newest) return
  if (current === 0) return void (await server.migrateDatabase(database))
  throw new Error(
    `The database has schema version ${current}, and this carillon writes version ${newest}. ` +
      (current < newest ? 'Bring it up to date with: carillon migrate' : 'Use the newer carillon.'),
  )
}

function othersLiveHere(name: string): string {
  return (
    `This database has jobs that were not seeded, "${visible(name)}" for one: millions more would slow down its lists and ` +
    'searches. Name another with DATABASE_URL or --data-dir, or add --beside-others if that is meant.'
  )
}

function serversRun(node: string): string {
  return (
    `A server uses this database (${visible(node)}): its workers may hold runs of what was seeded. Stop it first, or delete ` +
    `them as jobs, which takes longer: carillon jobs delete --managed-by ${seedOwner} --yes`
  )
}
