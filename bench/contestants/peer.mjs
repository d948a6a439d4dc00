// A peer, seen from the benchmark: a process of its own with a database of its own, told what to do by messages.
import { fork } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { nodeArgs } from '../lib/node-args.mjs'
import { installPeers } from '../peers/install.mjs'

export const peerNames = ['graphile-worker', 'pg-boss', 'bullmq']
const host = fileURLToPath(new URL('../peers/host.mjs', import.meta.url))

export class Peer {
  #child
  #waiting = new Map()
  #calls = 0
  #ended

  /** `workload` chooses the settings with which the peer does best at it. */
  static async open(house, name, workload) {
    const peer = new Peer()
    await peer.#open(house, name, workload)
    return peer
  }

  async #open(house, name, workload) {
    const onRedis = name === 'bullmq'
    const database = `bench_${name.replaceAll('-', '_')}`
    const { pid } = await house.postgres()
    const redis = onRedis ? await house.redis() : null
    const url = onRedis ? null : await house.freshDatabase(database)
    this.groups = onRedis ? { redis: [redis.pid] } : { postgres: [pid] }
    this.#child = fork(host, [name, installPeers()], {
      serialization: 'advanced',
      execArgv: nodeArgs,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.groups.peer = [this.#child.pid]
    const gone = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.on('message', (message) => this.#answer(message))
    this.#child.once('exit', (code) => this.#fail(new Error(`The process of ${name} ended with ${code}.`)))
    this.#ended = house.atEnd(async () => {
      await Promise.race([this.call('close').catch(() => undefined), wait(5_000, undefined, { ref: false })])
      this.#child.kill('SIGKILL')
      await gone
      if (!onRedis) await house.dropDatabase(database)
    })
    await new Promise((resolve, reject) => this.#waiting.set(0, { resolve, reject }))
    await this.call('open', { url, workload, redis: redis && { host: redis.host, port: redis.port } })
  }

  call(operation, options = {}) {
    const id = ++this.#calls
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#child.send({ id, operation, options }, (error) => error && reject(error))
    })
  }

  schedule(dues) {
    return this.call('schedule', { dues: Float64Array.from(dues) })
  }

  settle() {
    return this.call('settle')
  }

  listen() {
    return this.call('listen')
  }

  started() {
    return this.call('count')
  }

  async records() {
    return [await this.call('records')]
  }

  drained(count) {
    return this.call('drained', { count })
  }

  close() {
    return this.#ended()
  }

  #answer({ id, result, error }) {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error === undefined) waiting?.resolve(result)
    else waiting?.reject(new Error(error))
  }

  #fail(error) {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
