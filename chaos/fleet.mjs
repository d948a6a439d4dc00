// The processes under test, each a real `carillon up` behind a door of its own to the database. Only processes started here
// are ever signalled.
import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { ShiftedClock } from './clock-shift.mjs'

const here = (name) => fileURLToPath(new URL(name, import.meta.url))
const startWithinMs = 60_000
/** More than a process needs, and little enough to be used up soon. */
const heapMegabytes = 512

/** One process by its part in the fleet; over a run it has many lives. */
export class Member {
  /** @type {import('node:child_process').ChildProcess | null} */
  child = null
  url = null
  frozen = false
  lives = 0

  /**
   * @param {{ name: string, roles: string[], command: string, door: number, env: Record<string, string>, folder: string,
   *   clock: ShiftedClock, onStart(life: object): void, onReady(pid: number): void, onTerminate?(pid: number): void, onKill?(pid: number): void, onEnd(death: object): void }} options
   */
  constructor(options) {
    Object.assign(this, options)
  }

  get pid() {
    return this.child?.pid ?? 0
  }

  has(role) {
    return this.roles.includes(role)
  }

  /** What Node is started with. */
  get args() {
    const roles = this.roles.flatMap((role) => ['--role', role])
    const tasks = this.has('worker') ? ['--tasks', here('./tasks.mjs')] : []
    return [this.command, 'up', '--json', '--port', '0', ...roles, ...tasks]
  }

  async start() {
    if (this.over) return
    const child = spawn(process.execPath, this.args, { stdio: ['ignore', 'pipe', 'pipe'], env: this.env })
    child.stderr.pipe(createWriteStream(join(this.folder, `${this.name}.log`), { flags: 'a' }))
    this.child = child
    this.frozen = false
    this.lives += 1
    this.onStart({ name: this.name, pid: child.pid, roles: this.roles })
    this.exited = new Promise((resolve) => child.once('exit', resolve))
    child.once('exit', (code, signal) => {
      this.onEnd({ name: this.name, pid: child.pid, code, signal, told: this.told === child })
      if (this.child === child) this.child = null
    })
    const line = await Promise.race([firstLine(child.stdout), this.exited, late()])
    if (typeof line !== 'string')
      throw new Error(`${this.name} did not get ready: see its log in ${this.folder}`)
    this.url = JSON.parse(line).url
    this.onReady(child.pid)
  }

  async kill() {
    if (this.child !== null) this.onKill?.(this.pid)
    this.child?.kill('SIGKILL')
    await this.exited
  }

  async terminate() {
    this.told = this.child
    if (this.child !== null) this.onTerminate?.(this.pid)
    this.child?.kill('SIGTERM')
    await this.exited
  }

  freeze() {
    this.frozen = true
    this.child?.kill('SIGSTOP')
  }

  thaw() {
    this.child?.kill('SIGCONT')
    this.frozen = false
  }
}

/** A worker over HTTP. It has no door to the database, and tells nobody when it has joined. */
class RemoteWorker extends Member {
  get args() {
    return [here('./remote-worker.mjs'), this.front, this.name]
  }
}

export class Fleet {
  /** @type {Member[]} workers over HTTP, which are no part of the cluster's own processes */
  remotes = []

  /**
   * @param {{ folder: string, databaseUrl: string, doors: number[], shim: string | null, settings: Record<string, string>,
   *   command: string, parts: Record<string, string[]>, onStart(life: object): void, onReady(pid: number): void, onTerminate?(pid: number): void, onKill?(pid: number): void, onEnd(death: object): void }} options
   */
  constructor({ folder, databaseUrl, doors, shim, settings, parts, ...told }) {
    this.folder = folder
    this.told = told
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith('CARILLON_'))
    this.members = Object.entries(parts).map(([name, roles], door) => {
      const clock = new ShiftedClock(shim, join(folder, `clock-${name}`))
      const url = new URL(databaseUrl)
      url.port = String(doors[door])
      const env = {
        ...Object.fromEntries(own),
        NODE_OPTIONS: `--max-old-space-size=${heapMegabytes} --import ${pathToFileURL(here('./preload.mjs')).href}`,
        DATABASE_URL: url.href,
        CHAOS_FOLDER: folder,
        ...clock.env,
        ...settings,
      }
      return new Member({ name, roles, door, env, folder, clock, ...told })
    })
  }

  with(role) {
    return this.members.filter((member) => member.has(role))
  }

  async start() {
    await Promise.all(this.members.map((member) => member.start()))
  }

  /** Workers over HTTP that call this address. @param {string} front @param {number} count */
  async startRemotes(front, count) {
    const { folder, told } = this
    this.remotes = Array.from({ length: count }, (_, at) => {
      const name = `remote-${at + 1}`
      const clock = new ShiftedClock(null, join(folder, `clock-${name}`))
      const env = { ...process.env, CHAOS_FOLDER: folder }
      const onReady = () => undefined
      return new RemoteWorker({ name, roles: ['remote'], front, env, folder, clock, ...told, onReady })
    })
    await Promise.all(this.remotes.map((remote) => remote.start()))
  }

  get everybody() {
    return [...this.members, ...this.remotes]
  }

  /** Whatever is missing comes back, whatever is frozen goes on, every clock is right. */
  async heal() {
    for (const member of this.everybody) {
      if (member.frozen) member.thaw()
      if (member.clock.shiftMs !== 0) member.clock.shift(0)
    }
    await Promise.all(this.everybody.filter(({ child }) => child === null).map((member) => member.start()))
  }

  async end() {
    for (const member of this.everybody) {
      member.over = true
      if (member.frozen) member.thaw()
    }
    await Promise.all(this.everybody.map((member) => member.terminate()))
  }
}

function late() {
  return new Promise((resolve) => setTimeout(resolve, startWithinMs, null).unref())
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
