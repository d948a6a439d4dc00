// The processes of the soak, each a real `carillon up`. Only processes started here are ever signalled.
import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const command = fileURLToPath(new URL('../../packages/cli/bin/carillon.js', import.meta.url))
const tasks = fileURLToPath(new URL('./soak-tasks.mjs', import.meta.url))

/** One process by its part in the fleet; over the soak it has several lives. */
export class Member {
  /** @type {import('node:child_process').ChildProcess | null} */
  child = null
  /** @type {string | null} */
  url = null
  stopped = false
  lives = 0

  constructor(name, roles, shared) {
    this.name = name
    this.roles = roles
    this.shared = shared
  }

  get pid() {
    return this.child?.pid ?? 0
  }

  get running() {
    return this.child !== null && !this.stopped
  }

  async start() {
    const { env, folder, onDeath, isOver } = this.shared
    if (isOver()) return
    const args = [command, 'up', '--json', '--port', '0', ...this.roles.flatMap((role) => ['--role', role])]
    if (this.roles.includes('worker')) args.push('--tasks', tasks)
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
    child.stderr.pipe(createWriteStream(join(folder, `${this.name}.log`), { flags: 'a' }))
    this.child = child
    this.stopped = false
    this.lives += 1
    this.exited = new Promise((resolve) => child.once('exit', resolve))
    child.once('exit', () => {
      onDeath({ pid: child.pid, at: Date.now() })
      if (this.child === child) this.child = null
    })
    const line = await Promise.race([firstLine(child.stdout), this.exited])
    if (typeof line !== 'string') throw new Error(`${this.name} ended before it was ready: see ${folder}`)
    this.url = JSON.parse(line).url
  }

  /** As a power cut does it. Answers when the signal was sent. */
  async kill() {
    const at = Date.now()
    this.child?.kill('SIGKILL')
    await this.exited
    return at
  }

  async terminate() {
    const at = Date.now()
    this.child?.kill('SIGTERM')
    await this.exited
    return at
  }

  freeze() {
    this.stopped = true
    this.child?.kill('SIGSTOP')
    return Date.now()
  }

  thaw() {
    this.child?.kill('SIGCONT')
    this.stopped = false
  }
}

export class Fleet {
  /** Which processes ended, and when. @type {{ pid: number, at: number }[]} */
  deaths = []
  over = false

  /** @param {{ databaseUrl: string, folder: string, ttlSeconds: number, lateSeconds: number }} options */
  constructor({ databaseUrl, folder, ttlSeconds, lateSeconds }) {
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith('CARILLON_'))
    const env = {
      ...Object.fromEntries(own),
      DATABASE_URL: databaseUrl,
      SOAK_EVIDENCE: folder,
      CARILLON_MIN_INTERVAL_SECONDS: '1',
      CARILLON_LEASE_TTL_SECONDS: String(ttlSeconds),
      CARILLON_LATE_TOLERANCE_SECONDS: String(lateSeconds),
      CARILLON_LOG_FORMAT: 'json',
      CARILLON_DRAIN_SECONDS: '10',
      CARILLON_WORKER_CONCURRENCY: '500',
    }
    const shared = { env, folder, onDeath: (death) => this.deaths.push(death), isOver: () => this.over }
    this.schedulers = [1, 2, 3].map((at) => new Member(`scheduler-${at}`, ['scheduler'], shared))
    this.desk = new Member('desk', ['api', 'worker'], shared)
    this.worker = new Member('worker', ['worker'], shared)
    this.members = [...this.schedulers, this.desk, this.worker]
  }

  async start() {
    await Promise.all(this.members.map((member) => member.start()))
  }

  /** Whatever is missing comes back, whatever is frozen goes on. */
  async heal() {
    for (const member of this.members) {
      if (member.stopped) member.thaw()
      if (member.child === null) await member.start()
    }
  }

  async end() {
    this.over = true
    for (const member of this.members) if (member.stopped) member.thaw()
    await Promise.all(this.members.map((member) => (member.child === null ? null : member.terminate())))
  }
}

async function firstLine(stream) {
  let text = ''
  for await (const chunk of stream) {
    text += String(chunk)
    const end = text.indexOf('\n')
    if (end !== -1) {
      stream.resume()
      return text.slice(0, end)
    }
  }
  return null
}
