// A client of the API who pauses, resumes, edits, triggers and deletes, while everything else goes wrong. It uses the
// routes that the server says it has.
import { setTimeout as wait } from 'node:timers/promises'

export class Meddler {
  /** @type {Record<string, number>} */
  done = {}
  /** Answers that a server never gives: 5xx and none at all. @type {string[]} */
  failures = []
  /** @type {Set<string>} */
  paused = new Set()
  /** @type {Set<string>} */
  deleted = new Set()

  /**
   * @param {{ url: string, jobs: { id: string, group: string }[], random: import('./random.mjs').Random,
   *   perSecond: number }} options
   */
  constructor(options) {
    Object.assign(this, options)
    this.touchable = this.jobs.filter(({ group }) => group !== 'steady')
  }

  /** Reads which operations there are. */
  async look() {
    const response = await fetch(`${this.url}/api/v1/openapi.json`)
    const { paths } = await response.json()
    const has = (path, method) =>
      paths[path]?.[method] !== undefined || paths[`/api/v1${path}`]?.[method] !== undefined
    const one = '/jobs/{job_id}'
    this.routes = {
      pause: has(`${one}/pause`, 'post'),
      resume: has(`${one}/resume`, 'post'),
      trigger: has(`${one}/trigger`, 'post'),
      patch: has(one, 'patch'),
      delete: has(one, 'delete'),
    }
    return Object.keys(this.routes).filter((name) => this.routes[name])
  }

  async meddle(until) {
    if (this.touchable.length === 0) return
    while (Date.now() < until) {
      await this.once()
      await wait(this.random.between(0, 2_000 / this.perSecond))
    }
  }

  async once() {
    const job = this.random.pick(this.touchable)
    if (this.deleted.has(job.id)) return
    const edits = job.group === 'edited'
    const operation = this.random.weighted([
      [this.routes.trigger ? 4 : 0, 'trigger'],
      [this.routes.pause ? 3 : 0, this.paused.has(job.id) ? 'resume' : 'pause'],
      [this.routes.patch && edits ? 3 : 0, 'edit'],
      [this.routes.delete && edits ? 0.2 : 0, 'delete'],
      [0.01, null],
    ])
    if (operation !== null) await this[operation](job)
  }

  async pause(job) {
    const answer = await this.send('pause', 'POST', `${job.id}/pause`, { reason: 'soak' })
    if (answer?.ok) this.paused.add(job.id)
  }

  async resume(job) {
    const answer = await this.send('resume', 'POST', `${job.id}/resume`, {})
    if (answer?.ok || answer?.status === 409) this.paused.delete(job.id)
  }

  async trigger(job) {
    await this.send('trigger', 'POST', `${job.id}/trigger`, {})
  }

  async edit(job) {
    const change = this.random.pick([
      { schedule: `@every ${this.random.between(5, 30)}s` },
      { schedule: `${this.random.between(0, 9)}-59/10 * * * * *` },
      { schedule: '* * * * *', timezone: 'Europe/Athens' },
      { missed_window: this.random.pick(['SKIP', 'RUN_ONCE', 'RUN_ALL']) },
      { overlap_policy: this.random.pick(['SKIP', 'QUEUE', 'REPLACE']), max_concurrent: null },
      { overlap_policy: 'ALLOW', max_concurrent: this.random.between(1, 3) },
    ])
    await this.send('edit', 'PATCH', job.id, change)
  }

  async delete(job) {
    const answer = await this.send('delete', 'DELETE', job.id)
    if (answer?.ok) this.deleted.add(job.id)
  }

  /** Nothing stays paused: what the pauses kept back must be decided. */
  async leave() {
    for (const id of this.paused) await this.resume({ id })
  }

  async send(what, method, path, body) {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' }
    try {
      const response = await fetch(`${this.url}/api/v1/jobs/${path}`, {
        method,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
      })
      const name = response.ok ? what : `${what} ${response.status}`
      this.done[name] = (this.done[name] ?? 0) + 1
      const text = await response.text()
      if (response.status >= 500) this.failures.push(`${method} ${path}: ${response.status} ${text}`)
      return response
    } catch (error) {
      this.failures.push(`${method} ${path}: ${error.cause ?? error}`)
      return null
    }
  }
}
