import { randomUUID } from 'node:crypto'
import type { KeyInput, RevealedKey } from '@carillon/contract'
import type { Logger } from 'pino'
import { Membership } from './cluster/membership.js'
import { PostgresCoordination } from './cluster/postgres/coordination.js'
import type { Config } from './config.js'
import { DatabaseClock } from './db/database-clock.js'
import { joinEmbeddedPostgres } from './db/embedded/index.js'
import { type MigrationReport, migrate } from './db/migrate.js'
import { Database } from './db/pool.js'
import type { HealthPort } from './http/api.js'
import { defaultTenant } from './http/tenant.js'
import type { HttpServer } from './http/server.js'
import { Keys } from './pipeline/access/keys.js'
import { Tenants } from './pipeline/access/tenants.js'
import { Secrets } from './pipeline/sign/secrets.js'
import type { Events } from './pipeline/alert/events.js'
import { type Caller, onBehalfOf } from './platform/caller.js'
import { type Clock, systemClock } from './platform/clock.js'
import { incarnationName } from './platform/ids.js'
import { Metrics } from './platform/metrics.js'
import { Standing } from './platform/standing.js'
import { isSampled } from './platform/trace-ids.js'
import { openTracing, type Tracing } from './platform/tracing.js'
import { once, unwind } from './platform/undo.js'
import { composeAlerts, composeEvents } from './roles/alerts.js'
import { composeAccess, describeAccess, requireAdminKey } from './roles/access.js'
import { composeApi } from './roles/api.js'
import type { Context, Hints } from './roles/context.js'
import { composeHealth, type HealthParts } from './roles/health.js'
import { composeHeartbeat } from './roles/heartbeat.js'
import { composeHttp } from './roles/http.js'
import { composeMonitor } from './roles/monitor.js'
import { composeRemote, type RemoteRole } from './roles/remote.js'
import { explainTakenPort } from './roles/port-taken.js'
import { RunSpans } from './roles/run-spans.js'
import { composeRunStreams, type RunStreams } from './roles/run-streams.js'
import { composeScheduler, type SchedulerRole } from './roles/scheduler.js'
import { composeWorker, reachOf, type WorkerRole } from './roles/worker.js'
import { describeReach } from './targets/address-guard.js'
import { createTaskRegistry, loadTasks } from './targets/task-registry.js'
import { version } from './version.js'

export interface StartOptions {
  config: Config
  log: Logger
  /** Whether this process listens although it has not the api role: for health checks and metrics. */
  listenAnyway?: boolean
  clock?: Clock
}

/** A running process of the fleet. */
export interface RunningServer {
  /** Where it listens; null for a process that does not. */
  url: string | null
  databaseUrl: string
  postgres: string
  tasks: string[]
  /** Whether callers need keys, in words. */
  access: string
  /** What HTTP targets may reach from here, in words. */
  reach: string
  migrated: MigrationReport
  /** Stops leasing and firing, finishes or hands back, gives partitions back, stops listening, leaves. Safe to call twice. */
  stop(): Promise<void>
}

/** A Postgres to work with: somebody's, or the embedded one in the data folder. */
export async function openPostgres(config: Config, log: Logger) {
  if (config.databaseUrl !== undefined) {
    return { url: config.databaseUrl, description: 'from DATABASE_URL', leave: () => Promise.resolve() }
  }
  const embedded = await joinEmbeddedPostgres({
    dataDir: config.dataDir,
    log: (message, fields) => log.debug(fields ?? {}, message),
  })
  return {
    url: embedded.url,
    description: `embedded PostgreSQL ${embedded.serverVersion}, ${embedded.how}, data in ${embedded.dataDir}`,
    leave: async () => void (await embedded.leave()),
  }
}

export function openDatabase(config: Config, url: string, log: Logger, metrics?: Metrics): Database {
  return new Database({
    url,
    poolSize: config.poolSize,
    statementTimeoutMs: config.statementTimeoutMs,
    applicationName: 'carillon',
    log,
    ...(metrics !== undefined && { metrics }),
  })
}

/** Brings the schema up to date over a connection of its own. */
export async function migrateDatabase(
  database: Database,
  clock: Clock = systemClock,
): Promise<MigrationReport> {
  const client = database.dedicated('carillon migrate')
  await client.connect()
  try {
    return await migrate(client, clock)
  } finally {
    await client.end()
  }
}

/**
 * Makes a key straight in the database: the way in before any server runs, and when every admin key is lost. Whoever has the
 * database has everything anyway. The schema must be up to date.
 */
export async function createKey(
  database: Database,
  { tenant = 'default', ...input }: KeyInput,
): Promise<RevealedKey> {
  const tenants = new Tenants({ database, home: defaultTenant, furnish: () => Promise.resolve() })
  const caller: Caller = {
    ...{
      tenant: defaultTenant,
      tenantName: 'default',
      role: 'admin',
      actor: 'local',
      key: null,
      expiresAt: null,
    },
    ...{ operation: 'createKey', requestId: 'database', signal: new AbortController().signal },
  }
  return onBehalfOf(caller, async () => new Keys(database).create(await tenants.keyOf(tenant), input))
}

/** Starts the roles of this process, in the order in which they depend on each other. Undoes itself if it fails. */
export async function startServer(options: StartOptions): Promise<RunningServer> {
  const { config, log, clock = systemClock } = options
  const tasks = config.tasks === undefined ? createTaskRegistry([]) : await loadTasks(config.tasks)
  const undo: (() => Promise<void>)[] = []
  try {
    const postgres = await openPostgres(config, log)
    undo.push(postgres.leave)
    const metrics = new Metrics()
    const database = openDatabase(config, postgres.url, log, metrics)
    undo.push(() => database.close())
    const cluster = database.sibling('carillon cluster', clusterConnections)
    undo.push(() => cluster.close())
    const migrated = await migrateDatabase(database, clock)
    // So that the first webhook is signed, and its secret can be shown before it.
    await new Secrets(database).ensure([defaultTenant])
    if (config.roles.includes('api')) await requireAdminKey(config, database)
    const tracing = await startTracing(config)
    if (tracing !== null) undo.push(() => tracing.close())
    const node = composeNode({ ...options, clock }, { database, cluster, metrics, tracing }, tasks)
    await node.start(undo)
    const leave = once(() => unwind(undo, log))
    return {
      url: node.http?.url ?? null,
      databaseUrl: postgres.url,
      postgres: postgres.description,
      tasks: tasks.names(),
      access: describeAccess(config),
      reach: describeReach(reachOf(config)),
      migrated,
      stop: leave,
    }
  } catch (error) {
    await unwind(undo, log)
    throw error
  }
}

/** Null where no collector is named: then nothing of OpenTelemetry is even loaded. */
function startTracing(config: Config): Promise<Tracing> | null {
  const { otlpEndpoint: endpoint, otlpHeaders: headers, otlpServiceName: serviceName, traceOneIn } = config
  if (endpoint === undefined) return null
  const instance = randomUUID()
  const wants = (traceId: string) => isSampled(traceId, traceOneIn)
  return openTracing({ endpoint, headers, serviceName, version, instance, wants })
}

/**
 * Connections for life signs, looks at the peers and partitions: one for each of the two loops. Apart from the pool, where they would wait for
 * whatever fires, leases and records: most of all when much is to do, which is when a peer has gone.
 */
const clusterConnections = 2

interface Ground {
  database: Database
  cluster: Database
  metrics: Metrics
  tracing: Tracing | null
}

interface Node {
  http: HttpServer | null
  start(undo: (() => Promise<void>)[]): Promise<void>
}

function composeNode(
  options: StartOptions & { clock: Clock },
  { database, cluster, metrics, tracing }: Ground,
  tasks: Awaited<ReturnType<typeof loadTasks>>,
): Node {
  const { config, log, clock } = options
  const events = composeEvents({ config, database, log })
  const databaseClock = new DatabaseClock(clock, (byMs) => {
    reportStep(byMs, { log, metrics, events, node: incarnationName(membership.incarnation) })
  })
  const coordination = coordinationOf(config, { database: cluster, databaseClock, clock, log })
  const membership: Membership = new Membership({
    coordination,
    log,
    roles: config.roles,
    tasks: config.roles.includes('worker') ? tasks.names() : [],
    commands: config.roles.includes('worker') && config.allowCommands,
    codeVersion: version,
    report: () => scheduler?.report() ?? {},
  })
  const ground = { config, database, databaseClock, coordination, membership, clock, log, metrics }
  const monitor = composeMonitor(ground)
  const traces = tracing && { tracing, runs: new RunSpans(tracing, () => databaseClock.atLeast()) }
  const context: Context = { ...ground, jobSeries: monitor.jobSeries, traces }
  const heartbeat = composeHeartbeat(context)
  metrics.onRender(() => metrics.heartbeatAge.set(heartbeat.sinceProgressMs() / 1000))

  const worker = config.roles.includes('worker') ? composeWorker(context, tasks) : null
  const remote = config.roles.includes('api') ? composeRemote(context) : null
  const streams = remote === null ? null : composeRunStreams(context)
  const toWorkers = hintsTo([worker, remote])
  const scheduler = config.roles.includes('scheduler')
    ? composeScheduler(context, toWorkers, worker?.handOver ?? null)
    : null
  membership.onLost(() => {
    scheduler?.lost()
    worker?.lost()
  })
  membership.onPeerGone(() => scheduler?.peerGone())

  const alerts = composeAlerts(context, { events, worker: worker?.worker ?? null })
  const hints = { ...toWorkers, ...hintsToScheduler(scheduler) }
  const standing = new Standing()
  const api = remote === null || streams === null ? null : composeApi(context, hints, remote.leases, streams)
  const access = composeAccess(context)
  const http = composeHttp(context, options.listenAnyway ?? false, {
    health: healthOf(context, { heartbeat, standing, fleet: monitor.fleet }, [scheduler, worker]),
    ...{ access: access.port, api, standing },
  })
  const start = async (undo: (() => Promise<void>)[]) => {
    const closeHttp = await listening(http, database, undo)
    await membership.join()
    undo.push(() => membership.leave())
    await scheduler?.prepare()
    undo.push(() => heartbeat.stop())
    heartbeat.start()
    const services = [scheduler, worker, remote, streams].flatMap((role) => role?.services ?? [])
    for (const service of services) service.start()
    undo.push(() => monitor.stop())
    monitor.start()
    undo.push(async () => api?.close())
    undo.push(() => alerts.stop())
    for (const service of alerts.services) service.start()
    undo.push(() => access.watching.stop())
    access.watching.start()
    undo.push(() => Promise.resolve(remote?.close()))
    // After the drain: whoever asks meanwhile is told that this process leaves, and results of workers over HTTP are still taken.
    undo.push(closeHttp)
    undo.push(() => drain({ scheduler, worker, remote, streams }, config.drainSeconds * 1000, log))
    if (http !== null) {
      standing.begin()
      undo.push(() => Promise.resolve(remote?.endPolls()))
      undo.push(() => Promise.resolve(streams?.end()))
      undo.push(() => Promise.resolve(http.leave()))
    }
    undo.push(() => Promise.resolve(standing.leave()))
  }
  return { http, start }
}

function coordinationOf(
  config: Config,
  ground: Pick<Context, 'database' | 'databaseClock' | 'clock' | 'log'>,
): PostgresCoordination {
  return new PostgresCoordination({
    ...ground,
    heartbeatMs: config.heartbeatMs,
    leaseTtlMs: config.leaseTtlSeconds * 1000,
    runLeaseMs: config.runLeaseSeconds * 1000,
  })
}

function healthOf(
  context: Context,
  parts: Pick<HealthParts, 'heartbeat' | 'standing' | 'fleet'>,
  [scheduler, worker]: [SchedulerRole | null, WorkerRole | null],
): HealthPort {
  const loops = [scheduler, worker].flatMap((role) => role?.services ?? [])
  return composeHealth(context, { ...parts, loops, ownership: scheduler?.ownership ?? null })
}

/**
 * Before the cluster hears of a process: one that cannot listen takes no partition from anybody. Answers how to close it,
 * which is done twice: where it stops listening in order, and where the start fails before.
 */
async function listening(
  http: HttpServer | null,
  database: Database,
  undo: (() => Promise<void>)[],
): Promise<() => Promise<void>> {
  const close = once(() => http?.close() ?? Promise.resolve())
  undo.push(close)
  await http?.listen().catch(async (error: unknown) => {
    throw await explainTakenPort(error, database)
  })
  return close
}

function hintsToScheduler(role: SchedulerRole | null): Pick<Hints, 'jobChanged' | 'operationStarted'> {
  return { jobChanged: () => role?.jobChanged(), operationStarted: () => role?.operationStarted() }
}

/** Whoever of this process hands out runs is told that there are some. */
function hintsTo(roles: (WorkerRole | RemoteRole | null)[]): Pick<Hints, 'runFired' | 'runRescued'> {
  return {
    runFired: (startsAt) => roles.forEach((role) => role?.runFired(startsAt)),
    runRescued: () => roles.forEach((role) => role?.runsCameBack()),
  }
}

/** A step back holds up every tick until the clock is where it was; one forward is an outage to every job. */
function reportStep(
  byMs: number,
  { log, metrics, events, node }: { log: Logger; metrics: Metrics; events: Events; node: string },
): void {
  const direction = byMs < 0 ? 'back' : 'forward'
  const subject =
    byMs < 0
      ? 'the clock of the database stepped back'
      : 'the clock of the database stepped forward, or this process slept'
  metrics.clockSteps.inc({ direction })
  log.error({ by_ms: byMs }, subject)
  const fingerprint = `clock_step:${direction}`
  events.raise({ tenant: null, kind: 'clock_step', fingerprint, subject, detail: { by_ms: byMs, node } })
}

/**
 * Partitions go to the others first, so that nothing fires late; then the runs under way get their time. Each step is
 * done whatever became of the one before: with the database away nothing can be given back, and the process ends all
 * the same.
 */
async function drain(
  {
    scheduler,
    worker,
    remote,
    streams,
  }: {
    scheduler: SchedulerRole | null
    worker: WorkerRole | null
    remote: RemoteRole | null
    streams: RunStreams | null
  },
  withinMs: number,
  log: Logger,
): Promise<void> {
  const services = [scheduler, worker, remote, streams].flatMap((role) => role?.services ?? [])
  await unwind(
    [
      async () => worker?.close(),
      async () => void (await Promise.all(services.map((service) => service.stop()))),
      async () => worker?.drain(withinMs),
      async () => scheduler?.handOver(),
    ],
    log,
  )
}
