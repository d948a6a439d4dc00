// The API client: registers, edits, pauses, resumes, triggers and deletes while everything else goes wrong, and writes down
// of each call when it was made and answered, and whether it went well, was refused, or nobody knows.
import { setTimeout as wait } from 'node:timers/promises'
import { now } from './clock.mjs'
import { send } from './send.mjs'

const jobsInBulk = 150

export class ApiClient {
  #busy = new Set()
  #calls = 0
  #made = 0
  #bulks = 0
  paused = new Set()
  gone = new Set()

  /**
   * @param {{ members: import('./fleet.mjs').Member[], jobs: { name: string, id: string, group: string }[],
   *   random: import('./random.mjs').Random, journal: import('./journal.mjs').Journal, receiverUrl: string }} options
   */
  constructor(options) {
    Object.assign(this, options)
    this.touchable = this.jobs.filter(({ group }) => group !== 'steady')
  }

  /** @param {() => boolean} isOver @param {number} perSecond */
  async meddle(isOver, perSecond) {
    const under = new Set()
    while (!isOver()) {
      // A stream for each call: what one draws does not shift the next, whenever its answers come.
      const call = this.once(this.random.fork()).finally(() => under.delete(call))
      under.add(call)
      await wait(this.random.between(0, 2_000 / perSecond))
    }
    await Promise.all(under)
  }

  async once(random) {
    const job = this.touchable.length > 0 ? random.pick(this.touchable) : null
    if (random.chance(0.01)) return this.createMany(random)
    if (job === null || random.chance(0.1)) return this.create(random)
    // One call about a job at a time: what it comes to is then known from their order.
    if (this.#busy.has(job.name) || this.gone.has(job.name)) return
    this.#busy.add(job.name)
    try {
      await this[this.#draw(job, random)](job, random)
    } finally {
      this.#busy.delete(job.name)
    }
  }

  #draw(job, random) {
    const edits = job.group === 'edited'
    return random.weighted([
      [this.paused.has(job.name) ? 0 : 4, 'trigger'],
      [3, this.paused.has(job.name) ? 'resume' : 'pause'],
      [edits ? 3 : 0, 'edit'],
      [edits ? 0.2 : 0, 'remove'],
    ])
  }

  async create(random) {
    const name = `made-${(this.#made += 1)}`
    const isHttp = random.chance(0.5)
    const input = {
      name,
      schedule: `@every ${random.between(2, 9)}s`,
      overlap_policy: random.pick(['SKIP', 'QUEUE']),
      missed_window: 'SKIP',
      retry: { max_attempts: 10, backoff: 'fixed', base_ms: 100 },
      target: isHttp
        ? { type: 'http', url: `${this.receiverUrl}made?ms=300` }
        : { type: 'task', task: 'quick' },
    }
    const { status, answer } = await this.call('create', name, 'POST', '', input, random)
    if (status === 'ok') this.touchable.push({ name, id: answer.job_id, group: 'edited' })
  }

  /** Many in one call, each written down by itself: what an answer says of a job is what it is held to. */
  async createMany(random) {
    const bulk = (this.#bulks += 1)
    const jobs = Array.from({ length: jobsInBulk }, (_, at) => ({
      name: `bulk-${bulk}-${at}`,
      schedule: '@every 10m',
      target: { type: 'task', task: 'quick' },
    }))
    const member = random.pick(this.members)
    const invoked = now()
    const { answer, ...said } = await send(`${member.url}/api/v1/jobs/bulk`, 'POST', JSON.stringify({ jobs }))
    for (const [at, { name }] of jobs.entries()) {
      const entry = { call: 'create', name, invoked, answered: now(), ...said, by: member.name, bulk }
      const result = answer?.results?.[at]
      if (said.status !== 'ok') this.journal.append(entry)
      else if (result?.status === 'created') this.journal.append({ ...entry, status: 'ok' })
      else this.journal.append({ ...entry, status: 'failed', error: result?.error?.code })
    }
    await this.journal.sync()
  }

  async pause(job, random) {
    const { status } = await this.call(
      'pause',
      job.name,
      'POST',
      `/${job.id}/pause`,
      { reason: 'chaos' },
      random,
    )
    if (status !== 'failed') this.paused.add(job.name)
  }

  async resume(job, random) {
    const { status } = await this.call('resume', job.name, 'POST', `/${job.id}/resume`, {}, random)
    if (status === 'ok') this.paused.delete(job.name)
  }

  async trigger(job, random) {
    await this.call('trigger', job.name, 'POST', `/${job.id}/trigger`, {}, random)
  }

  /** The mark says in each version which edit made it, so that half of one would be seen. */
  async edit(job, random) {
    const mark = `edit ${(this.#calls += 1)}`
    const change = random.pick([
      { schedule: `@every ${random.between(5, 30)}s` },
      { schedule: `${random.between(0, 9)}-59/10 * * * * *` },
      { schedule: '* * * * *', timezone: 'Europe/Athens' },
      { missed_window: random.pick(['SKIP', 'RUN_ONCE', 'RUN_ALL']) },
      { overlap_policy: random.pick(['SKIP', 'QUEUE', 'REPLACE']), max_concurrent: null },
      { overlap_policy: 'ALLOW', max_concurrent: random.between(1, 3) },
    ])
    await this.call('edit', job.name, 'PATCH', `/${job.id}`, { description: mark, ...change }, random)
  }

  async remove(job, random) {
    const { status } = await this.call('delete', job.name, 'DELETE', `/${job.id}`, undefined, random)
    if (status !== 'failed') this.gone.add(job.name)
  }

  /** Bodies that nobody should send. Whatever is answered, it is no error of the server. */
  async poison() {
    const base = { schedule: '@every 1h', target: { type: 'task', task: 'quick' } }
    const deep = '{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000)
    const bodies = [
      JSON.stringify({ ...base, name: 'nul', payload: { text: 'a\u0000b' } }),
      JSON.stringify({ ...base, name: 'lone', payload: { text: '\ud800' } }),
      JSON.stringify({ ...base, name: 'big', payload: 'x'.repeat(3_000_000) }),
      `{"name":"deep","schedule":"@every 1h","target":{"type":"task","task":"quick"},"payload":${deep}}`,
      `{"name":"proto","schedule":"@every 1h","target":{"type":"task","task":"quick"},"payload":{"__proto__":{"x":1}},"__proto__":{"y":1}}`,
      '{"name":',
      '[]',
      JSON.stringify({ ...base, name: '\u001b[2J', schedule: '* * 30 2 *' }),
    ]
    for (const [at, body] of bodies.entries()) await this.call('poison', `poison-${at}`, 'POST', '', body)
  }

  /** Nothing stays paused: what the pauses kept back must be decided. */
  async leave() {
    const named = new Map(this.touchable.map((job) => [job.name, job]))
    for (const name of this.paused) {
      const job = named.get(name)
      // One that may have been deleted, too: nobody knows of every delete whether it was done.
      if (job === undefined) continue
      for (let tries = 0; tries < 5 && this.paused.has(name); tries++) {
        const { code } = await this.call('resume', name, 'POST', `/${job.id}/resume`, {})
        if (code !== undefined && code < 500) break
      }
    }
  }

  /** @returns {Promise<{ status: 'ok' | 'failed' | 'unknown', code?: number, answer?: any }>} */
  async call(what, name, method, path, body, random = this.random) {
    const member = random.pick(this.members)
    const text = typeof body === 'string' ? body : body === undefined ? undefined : JSON.stringify(body)
    const entry = {
      call: what,
      name,
      invoked: now(),
      ...(text !== undefined && text.length < 2_000 && { body: text }),
    }
    const told = await send(`${member.url}/api/v1/jobs${path}`, method, text)
    const { answer, ...said } = told
    const run = answer?.run_id ?? answer?.run?.run_id
    this.journal.append({ ...entry, answered: now(), ...said, ...(run && { run }), by: member.name })
    await this.journal.sync()
    return told
  }
}
