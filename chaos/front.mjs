// What stands before the processes that serve the API, as a load balancer does: one address, each connection to one of those that live.
import { connect, createServer } from 'node:net'

export class Front {
  #sockets = new Set()

  /** @param {() => import('./fleet.mjs').Member[]} members that serve the API */
  static async open(members) {
    const front = new Front()
    let next = 0
    front.server = createServer((client) => {
      const live = members().filter(({ child, url }) => child !== null && url !== null)
      if (live.length === 0) return client.destroy()
      const server = connect(Number(new URL(live[next++ % live.length].url).port), '127.0.0.1')
      for (const [from, to] of [
        [client, server],
        [server, client],
      ]) {
        front.#sockets.add(from)
        from.on('error', () => undefined)
        from.on('close', () => {
          front.#sockets.delete(from)
          to.destroy()
        })
        from.pipe(to)
      }
    })
    await new Promise((resolve) => front.server.listen(0, '127.0.0.1', resolve))
    front.url = `http://127.0.0.1:${front.server.address().port}`
    return front
  }

  async close() {
    this.server.close()
    for (const socket of this.#sockets) socket.destroy()
    await Promise.resolve()
  }
}
