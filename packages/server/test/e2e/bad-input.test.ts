import { request as httpRequest } from 'node:http'
import { errorCatalogue, type Problem } from '@carillon/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Random } from '../kit/random.js'
import { seedsOf } from '../kit/seeds.js'
import { Carillon, temporaryFolder } from './support/carillon.js'
import { type HostileRequest, hostileRequest } from './support/hostile.js'
import { type DocumentedOperation, departures, operationsOf } from './support/openapi.js'

/** Of every operation that the server's own document names: requests that are wrong, or strange and right. */
const requestsEach = 25
/** What HTTP itself refuses before any operation is chosen. */
const beforeRouting = new Set([400, 404, 405, 413, 414, 415, 431])
const patienceMs = 20_000

interface Answer {
  status: number
  contentType: string
  requestId: string | undefined
  body: string
}

const folder = temporaryFolder()
let carillon: Carillon
let operations: DocumentedOperation[]

beforeAll(async () => {
  carillon = await Carillon.up({ dataDir: folder.path })
  operations = await operationsOf(carillon.url)
})

afterAll(async () => {
  await carillon.terminate()
  folder.remove()
})

/** fetch would mend the path and refuse the headers: this sends them as they are. */
function send(method: string, { path, headers, body }: HostileRequest): Promise<Answer | null> {
  const { hostname, port } = new URL(carillon.url)
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ hostname, port, method, path, headers }, (incoming) => {
      const contentType = incoming.headers['content-type'] ?? ''
      const requestId = incoming.headers['x-request-id'] as string | undefined
      const status = incoming.statusCode ?? 0
      let text = ''
      // A stream has no end: that it began is all that is asked of it.
      if (contentType.startsWith('text/event-stream')) {
        outgoing.destroy()
        resolve({ status, contentType, requestId, body: '' })
        return
      }
      incoming.on('data', (chunk: Buffer) => (text += chunk.toString()))
      incoming.on('end', () => resolve({ status, contentType, requestId, body: text }))
      incoming.on('error', reject)
    })
    // A poll for work waits by design; it is not what is looked at here.
    outgoing.setTimeout(patienceMs, () => {
      outgoing.destroy()
      resolve(null)
    })
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      // The server hangs up on a body that is too long while it is still being sent.
      if (error.code === 'EPIPE' || error.code === 'ECONNRESET') resolve(null)
      else reject(error)
    })
    outgoing.end(body)
  })
}

/** What is wrong with an answer; empty when nothing is. */
function faultsOf(operation: DocumentedOperation, answer: Answer): string[] {
  if (answer.status >= 500) return [`answered ${answer.status}: ${answer.body.slice(0, 300)}`]
  if (answer.requestId === undefined) return ['no X-Request-Id']
  if (answer.status < 400) return departures(operation, answer)
  if (!answer.contentType.startsWith('application/problem+json')) return [`an error as ${answer.contentType}`]
  const problem = JSON.parse(answer.body) as Problem
  if (!(problem.code in errorCatalogue)) return [`the code ${problem.code} is not in the catalogue`]
  if (problem.request_id !== answer.requestId) return ['another request id in the body']
  if (operation.responses[String(answer.status)] === undefined && !beforeRouting.has(answer.status))
    return [`status ${answer.status} (${problem.code}) is not documented`]
  return []
}

test.each(seedsOf(1))('bad input is refused with 4xx and a problem, never 5xx (seed %i)', async (seed) => {
  const random = new Random(seed)
  const faults: string[] = []
  for (const operation of operations) {
    for (let turn = 0; turn < requestsEach; turn++) {
      const request = hostileRequest(operation, random)
      const answer = await send(operation.method, request)
      if (answer === null) continue
      const asked = `${operation.method} ${request.path.slice(0, 160)} ${request.body?.slice(0, 400) ?? ''}`
      for (const fault of faultsOf(operation, answer))
        faults.push(`${operation.operationId}: ${fault}\n  ${asked}`)
    }
  }
  expect(faults.slice(0, 20)).toEqual([])
  // It lives, and works.
  const job = await carillon.client.jobs.create({ name: 'still here', schedule: '@every 1h' })
  expect((await carillon.client.jobs.get(job.job_id)).name).toBe('still here')
})
