// What every scenario stands on: a database, a receiver, processes of one build, a client of the API, and the books in which
// everything is written down that the checker reads.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { drift, monotonicToWall, now } from '../../clock.mjs'
import { exportLedger } from '../../export.mjs'
import { Journal } from '../../journal.mjs'
import { Random } from '../../random.mjs'
import { changeSchema, commandOf } from '../build.mjs'
import { connect } from './database.mjs'
import { StruckMember } from './member.mjs'
import { receive } from './receiver.mjs'

/** Short, so that a scenario is; long enough that a busy machine does not take the living for dead. */
const ttlSeconds = 3
const lateSeconds = 15
const overloadSeconds = 10
const settings = {
  CARILLON_LOG_FORMAT: 'json',
  CARILLON_MIN_INTERVAL_SECONDS: '1',
  CARILLON_ALLOWED_NETWORKS: '127.0.0.0/8',
  CARILLON_LEASE_TTL_SECONDS: String(ttlSeconds),
  CARILLON_LATE_TOLERANCE_SECONDS: String(lateSeconds),
  CARILLON_OVERLOAD_LAG_SECONDS: String(overloadSeconds),
  CARILLON_DRAIN_SECONDS: '5',
}
const patienceMs = 30_000

export class Stage {
  /** @type {StruckMember[]} */
  members = []
  #faults = 0

  /**
   * @param {{ mutant: string | null, build?: string, databaseUrl: string, folder: string, seed: number, runLeaseSeconds: number }} options
   *   `mutant` null: the ordinary build. The folder is for what the checker reads.
   */
  static async open({ mutant, build, databaseUrl, folder, seed, runLeaseSeconds }) {
    const stage = new Stage()
    mkdirSync(folder, { recursive: true })
    Object.assign(stage, { folder, databaseUrl, seed, runLeaseSeconds, command: commandOf(build) })
    // A mutant may never settle, and is red by then.
    stage.patienceMs = mutant === null ? patienceMs : patienceMs / 6
    stage.random = new Random(seed)
    stage.settings = { ...settings, CARILLON_RUN_LEASE_SECONDS: String(runLeaseSeconds) }
    stage.nemesis = new Journal(join(folder, 'nemesis.ndjson'))
    stage.calls = new Journal(join(folder, 'client.ndjson'))
    stage.client = await connect(databaseUrl)
    if (mutant !== null) await changeSchema(mutant, stage.client)
    stage.receiver = await receive(join(folder, 'deliveries-http.ndjson'))
    return stage
  }

  /** Starts a process. @param {string} name @param {string[]} roles */
  async start(name, roles) {
    const { command, folder, databaseUrl, settings, nemesis } = this
    const note = (event) => nemesis.append({ ...event, at: now() })
    const member = await StruckMember.open({ name, roles, command, folder, databaseUrl, settings, note })
    this.members.push(member)
    await member.start()
    return member
  }

  /**
   * Does something to a process, and writes it down before it is done and when it is over.
   * @template Result @param {string} fault @param {StruckMember} victim @param {() => Promise<Result> | Result} make
   */
  async fault(fault, victim, make) {
    const number = (this.#faults += 1)
    const victims = [{ name: victim.name, pid: victim.pid }]
    this.nemesis.append({ fault, number, seed: this.seed, at: now(), victims })
    await this.nemesis.sync()
    try {
      return await make()
    } finally {
      this.nemesis.append({ lifted: number, at: now() })
    }
  }

  /**
   * Registers a job that is delivered to the receiver.
   * @param {StruckMember} api @param {object} definition
   */
  async register(api, definition) {
    const body = {
      timezone: 'UTC',
      overlap_policy: 'ALLOW',
      missed_window: 'RUN_ALL',
      target: { type: 'http', url: this.receiver.url },
      ...definition,
    }
    const text = JSON.stringify(body)
    const invoked = now()
    const response = await fetch(`${api.url}/api/v1/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: text,
    })
    const { status: code, ok } = response
    const said = { call: 'create', name: body.name, invoked, body: text, answered: now(), code, by: api.name }
    this.calls.append({ ...said, status: ok ? 'ok' : 'failed' })
    if (!ok) throw new Error(`${text} was refused: ${await response.text()}`)
  }

  /**
   * Jobs that tick every second, from a full one on for which nothing has to hurry. Answers the last tick.
   * @param {StruckMember} api @param {{ jobs: number, ticks?: number }} options `ticks` of each; left out, it goes on
   */
  async registerTicking(api, { jobs, ticks }) {
    const from = Math.ceil((Date.now() + 2_000) / 1_000) * 1_000
    const definition = {
      schedule: '* * * * * *',
      starts_at: new Date(from).toISOString(),
      ...(ticks !== undefined && { ends_at: new Date(from + ticks * 1_000).toISOString() }),
    }
    const names = Array.from({ length: jobs }, (_, at) => `job-${at}`)
    await Promise.all(names.map((name) => this.register(api, { name, ...definition })))
    return from + ((ticks ?? 1) - 1) * 1_000
  }

  /** Looks until it holds. @template Result @param {string} what @param {() => Promise<Result | false>} look */
  async until(what, look, withinMs = patienceMs) {
    for (const end = performance.now() + withinMs; ; await wait(25)) {
      const found = await look()
      if (found !== false) return found
      if (performance.now() > end) throw new Error(`Not within ${withinMs / 1_000} s: ${what}`)
    }
  }

  /** Looks until it holds, or the time is over: for what must not happen on the ordinary build. */
  async within(ms, look) {
    for (const end = performance.now() + ms; performance.now() < end && !(await look()); ) await wait(25)
  }

  pause(ms) {
    return wait(ms)
  }

  /** The first row of an answer. @param {string} text @param {unknown[]} [values] */
  async row(text, values) {
    const { rows } = await this.client.query(text, values)
    return rows[0]
  }

  /** Starts schedulers, a process for the rest, and waits until they have shared the partitions. */
  async startFleet(schedulers) {
    const names = Array.from({ length: schedulers }, (_, at) => `scheduler-${at + 1}`)
    const [desk, ...owners] = await Promise.all([
      this.start('desk', ['api', 'worker']),
      ...names.map((name) => this.start(name, ['scheduler'])),
    ])
    await this.shared(schedulers)
    return { desk, owners }
  }

  /** Waits until so many living processes own all partitions between them. */
  shared(schedulers) {
    return this.until(`${schedulers} schedulers share the partitions`, () => this.#isShared(schedulers))
  }

  async #isShared(schedulers) {
    const { owners, owned } = await this.row(
      `SELECT count(DISTINCT p.owner)::int AS owners, count(*)::int AS owned
       FROM carillon.partitions p JOIN carillon.incarnations i ON i.incarnation = p.owner
       WHERE i.state = 'alive' AND p.expires_at > carillon.now_ms()`,
    )
    return owned === 256 && owners === schedulers
  }

  /** Waits until nothing is left to do up to an instant; writes down what is left when patience is over. @param {number} end */
  async drain(end) {
    const left = await this.done(end)
    this.nemesis.append({ health: { left, sizes: [] }, at: now() })
    const owners = this.members.filter(({ running, roles }) => running && roles.includes('scheduler'))
    await this.within(this.patienceMs, () => this.#isShared(owners.length))
  }

  /** Waits until nothing is left to do up to an instant. Answers what is left when patience is over. @param {number} end */
  async done(end) {
    for (const limit = performance.now() + patienceMs; ; await wait(50)) {
      const left = await this.row(
        `SELECT (SELECT count(*)::int FROM carillon.timers WHERE due <= $1) AS timers,
                (SELECT count(*)::int FROM carillon.queue WHERE due <= $1) AS runs`,
        [end],
      )
      if (left.timers + left.runs === 0 && Date.now() > end) return null
      if (performance.now() > limit) return `${left.timers} timers and ${left.runs} runs`
    }
  }

  /** Writes down for the checker what it cannot know, and what the database says. @param {number} end of what is judged */
  async export(end) {
    const limits = {
      ttlMs: ttlSeconds * 1_000,
      runLeaseMs: this.runLeaseSeconds * 1_000,
      lateMs: lateSeconds * 1_000,
      overloadMs: overloadSeconds * 1_000,
    }
    const told = {
      ...limits,
      seed: this.seed,
      end,
      calendars: {},
      leastTicks: 1,
      without: ['verify', 'takeover'],
      monotonicToWall,
      driftMs: drift(),
    }
    writeFileSync(join(this.folder, 'settings.json'), JSON.stringify(told))
    await Promise.all([this.nemesis.sync(), this.calls.sync()])
    await exportLedger(this.client, this.folder)
  }

  /** Ends all that was started, however far it got. */
  async close() {
    await Promise.all(this.members.map((member) => member.end()))
    await this.receiver?.close()
    await this.client?.end()
    for (const journal of [this.nemesis, this.calls]) journal?.close()
  }
}
