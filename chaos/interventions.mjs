// People who intervene: dead letters are re-driven and discarded, runs cancelled, ticks that have passed run again. What is
// there to be asked for is looked up; each request is written down like a call of the client.
import { setTimeout as wait } from 'node:timers/promises'
import { now } from './clock.mjs'
import { send } from './send.mjs'

const backfilledMs = 90_000

export class Interventions {
  /**
   * @param {{ members: import('./fleet.mjs').Member[], jobs: { name: string, id: string, kind: string }[],
   *   random: import('./random.mjs').Random, journal: import('./journal.mjs').Journal, databaseNow: () => number }} options
   */
  constructor(options) {
    Object.assign(this, options)
    const ofKind = (...kinds) => this.jobs.filter(({ kind }) => kinds.includes(kind))
    this.slow = ofKind('inFlight', 'cancelled')
    this.backfilled = ofKind('backfilled')
    this.hogs = new Set(ofKind('hog').map(({ name }) => name))
  }

  /** @param {() => boolean} isOver @param {number} perSecond */
  async meddle(isOver, perSecond) {
    while (!isOver()) {
      await this.once(this.random.fork())
      await wait(this.random.between(0, 2_000 / perSecond))
    }
  }

  once(random) {
    return random.weighted([
      [5, () => this.settleLetter('redrive', random)],
      [1, () => this.settleLetter('discard', random)],
      [5, () => this.cancel(random)],
      [1, () => this.backfill(random)],
    ])()
  }

  async settleLetter(call, random) {
    const found = await this.#look('dead-letters?limit=50', random)
    // Running those again is a fault (out-of-memory), which has to be made on purpose and be on record.
    const letters = found.filter(({ job }) => !this.hogs.has(job))
    if (letters.length === 0) return
    const { run_id, job } = random.pick(letters)
    const path = `dead-letters/${run_id}`
    if (call === 'redrive')
      await this.#ask({ call, name: job, run: run_id }, 'POST', `${path}/redrive`, {}, random)
    else await this.#ask({ call, name: job, run: run_id }, 'DELETE', path, undefined, random)
  }

  async cancel(random) {
    if (this.slow.length === 0) return
    const { id, name } = random.pick(this.slow)
    const status = random.pick(['pending', 'running'])
    const open = await this.#look(`runs?job_id=${id}&status=${status}&limit=10`, random)
    if (open.length === 0) return
    const { run_id } = random.pick(open)
    await this.#ask({ call: 'cancel', name, run: run_id }, 'POST', `runs/${run_id}/cancel`, {}, random)
  }

  async backfill(random) {
    if (this.backfilled.length === 0) return
    const { id, name } = random.pick(this.backfilled)
    const to = this.databaseNow() - 5_000
    const iso = (instant) => new Date(instant).toISOString()
    const range = { from: iso(to - random.between(20_000, backfilledMs)), to: iso(to) }
    const body = { ...range, only_missing: false, per_minute: 600, reason: 'chaos' }
    await this.#ask({ call: 'backfill', name }, 'POST', `jobs/${id}/backfills`, body, random)
  }

  async #look(path, random) {
    const { answer, status } = await send(`${random.pick(this.members).url}/api/v1/${path}`, 'GET')
    return status === 'ok' ? (answer?.data ?? []) : []
  }

  async #ask(about, method, path, body, random) {
    const member = random.pick(this.members)
    const invoked = now()
    const text = body === undefined ? undefined : JSON.stringify(body)
    const { answer, ...said } = await send(`${member.url}/api/v1/${path}`, method, text)
    const backfill = answer?.backfill_id
    this.journal.append({
      ...about,
      ...{ invoked, answered: now(), ...said, by: member.name },
      ...(about.call === 'backfill' && { body: text, ...(backfill && { backfill, total: answer.total }) }),
    })
    await this.journal.sync()
  }
}
