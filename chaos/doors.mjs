// The harness's side of the proxy and of the receiver: two processes that are told what to do.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const here = (name) => fileURLToPath(new URL(name, import.meta.url))

export class Doors {
  /** @param {string} databaseUrl @param {number} count */
  static async open(databaseUrl, count) {
    const { hostname, port } = new URL(databaseUrl)
    const doors = new Doors()
    doors.child = fork(here('./proxy.mjs'), [hostname, port, String(count)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    const [{ ports }] = await once(doors.child, 'message')
    doors.ports = ports
    return doors
  }

  /** Answers when it is in force. @param {{ door: number }[]} members @param {string} mode @param {number} [delayMs] */
  async set(members, mode, delayMs) {
    const done = once(this.child, 'message')
    this.child.send({ doors: members.map(({ door }) => door), mode, delayMs })
    await done
  }

  async close() {
    this.child.kill('SIGKILL')
    await Promise.resolve()
  }
}

export class Receiver {
  /** @param {string} file */
  static async open(file) {
    const receiver = new Receiver()
    receiver.child = fork(here('./receiver.mjs'), [file], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    const [urls] = await once(receiver.child, 'message')
    return Object.assign(receiver, urls)
  }

  /** How the hostile host behaves from now on. @param {string} mode */
  behave(mode) {
    this.child.send({ mode })
  }

  async close() {
    if (this.child.exitCode !== null) return
    this.child.kill('SIGTERM')
    await once(this.child, 'exit')
  }
}
