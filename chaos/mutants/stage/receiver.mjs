// Where the runs of a scenario are delivered. What arrived is written down before it is answered; the scenario says when each
// is answered.
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import { monotonic } from '../../clock.mjs'

/** @typedef {{ job: string, run: string, due: number, attempt: number, token: number, key: string }} Delivery */

/** @param {string} path of the file that deliveries and answers are appended to */
export async function receive(path) {
  const file = openSync(path, 'a')
  let closed = false
  const note = (line) => {
    if (closed) return
    writeSync(file, `${JSON.stringify(line)}\n`)
    fsyncSync(file)
  }
  const receiver = {
    /** @type {Delivery[]} */
    deliveries: [],
    /** Answers when a delivery is to be answered. @param {Delivery} _delivery @returns {unknown} */
    whenToAnswer: (_delivery) => undefined,
    url: '',
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      closed = true
      closeSync(file)
    },
  }
  const server = createServer((request, response) => {
    const { headers } = request
    const delivery = {
      job: headers['carillon-job-id'],
      run: headers['carillon-run-id'],
      due: Date.parse(headers['carillon-scheduled-at']),
      attempt: Number(headers['carillon-attempt']),
      token: Number(headers['carillon-fencing-token']),
      key: headers['idempotency-key'],
    }
    note({ in: monotonic(), ...delivery })
    receiver.deliveries.push(delivery)
    request.resume()
    void Promise.resolve(receiver.whenToAnswer(delivery)).then(() => {
      note({ out: monotonic(), token: delivery.token, said: 'ok' })
      if (!response.destroyed) response.writeHead(204).end()
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  receiver.url = `http://127.0.0.1:${server.address().port}/`
  return receiver
}
