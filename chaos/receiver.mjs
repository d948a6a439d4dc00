// Where HTTP runs are delivered: a process of its own. Each delivery is in an fsynced file before it is answered. Started
// with fork: told by message how its hostile host behaves.
//   node receiver.mjs FILE
import { createServer } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { monotonic } from './clock.mjs'
import { Journal } from './journal.mjs'

const journal = new Journal(process.argv[2])
let mode = 'ok'

/** How the hostile host answers, and what it says of that to the checker: `refused` is an answer that asks for a retry. */
const manners = {
  ok: { said: 'ok', answer: (response) => response.writeHead(204).end() },
  500: { said: 'refused', answer: (response) => response.writeHead(500).end('broken') },
  429: { said: 'refused', answer: (response) => response.writeHead(429, { 'retry-after': '1' }).end() },
  410: { said: 'refused', answer: (response) => response.writeHead(410).end() },
  hang: { said: 'refused', answer: () => undefined },
  trickle: { said: 'refused', answer: trickle },
  late: {
    said: 'refused',
    answer: (response) => setTimeout(() => response.writeHead(200).end('late'), 4_000),
  },
  'cut-off': { said: 'refused', answer: cutOff },
}

function trickle(response) {
  response.writeHead(200, { 'content-length': '1000' })
  const timer = setInterval(() => response.write('.'), 500)
  response.on('close', () => clearInterval(timer))
}

function cutOff(response) {
  response.writeHead(200, { 'content-length': '1000' })
  response.write('half of it')
  setTimeout(() => response.destroy(), 20)
}

async function receive(request, response, hostile) {
  const { headers } = request
  const token = Number(headers['carillon-fencing-token'])
  const { said, answer } = manners[hostile ? mode : 'ok']
  journal.append({
    in: monotonic(),
    job: headers['carillon-job-id'],
    run: headers['carillon-run-id'],
    due: Date.parse(headers['carillon-scheduled-at']),
    attempt: Number(headers['carillon-attempt']),
    token,
    key: headers['idempotency-key'],
  })
  const body = await bodyOf(request)
  await journal.sync()
  const ms = Number(new URL(request.url, 'http://here').searchParams.get('ms') ?? 0)
  if (ms > 0) await wait(ms)
  journal.append({ out: monotonic(), token, said, ...(body.length > 0 && { body: body.length }) })
  await journal.sync()
  if (!response.destroyed) answer(response)
}

async function bodyOf(request) {
  const chunks = []
  try {
    for await (const chunk of request) chunks.push(chunk)
  } catch {
    // Its sender died amid it: the delivery counts.
  }
  return Buffer.concat(chunks)
}

function listen(host, hostile) {
  const server = createServer((request, response) => void receive(request, response, hostile))
  server.on('clientError', (_error, socket) => socket.destroy())
  return new Promise((resolve, reject) => server.once('error', reject).listen(0, host, () => resolve(server)))
}

const friendly = await listen('127.0.0.1', false)
// A host of its own, so that what happens to it happens to no other. Not every system has a second loopback address.
const hostile = await listen('127.0.0.2', true).catch(() => listen('127.0.0.1', true))
process.on('message', (message) => (mode = message.mode))
process.on('disconnect', () => process.exit(0))
process.on('SIGTERM', () => {
  journal.close()
  process.exit(0)
})
process.send({
  url: `http://127.0.0.1:${friendly.address().port}/`,
  hostileUrl: `http://${hostile.address().address}:${hostile.address().port}/`,
})
