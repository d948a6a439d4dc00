// The HTTP receiver of the kills: takes a while over every delivery, and remembers each.
import { createServer } from 'node:http'

/** @param {import('../soak/random.mjs').Random} random @param {number} slowestMs */
export async function listen(random, slowestMs) {
  const deliveries = []
  const server = createServer((request, response) => {
    const { headers } = request
    deliveries.push({
      at: Date.now(),
      tick: `${headers['carillon-job-id']}@${new Date(headers['carillon-scheduled-at']).toISOString()}`,
      key: headers['idempotency-key'],
      attempt: Number(headers['carillon-attempt']),
      token: Number(headers['carillon-fencing-token']),
    })
    request.resume()
    setTimeout(() => response.writeHead(204).end(), random.between(0, slowestMs))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    deliveries,
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}
