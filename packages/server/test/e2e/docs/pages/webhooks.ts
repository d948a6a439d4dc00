import { until } from '../../support/carillon.js'
import { type Delivery, Sink } from '../../support/sink.js'
import type { House } from '../house.js'
import { runThat, type SetUp } from '../set-up.js'

let delivered: Delivery
let secret = ''

/** A report, delivered to `url` now. */
async function deliver({ client }: House, name: string, url: string): Promise<string> {
  const job = await client.jobs.create({
    name,
    schedule: new Date(Date.now() - 1_000).toISOString(),
    target: { type: 'http', url },
    payload: { n: 1 },
  })
  return job.job_id
}

/** The application around the page's handler: what it uses of Express, on Node's own server. */
const application = `
import { createServer, type IncomingHttpHeaders } from 'node:http'
interface Answer { status(code: number): { end(): void } }
type Handler = (request: { headers: IncomingHttpHeaders; body: Buffer }, response: Answer) => Promise<void>
const express = { raw: (options: { type: string }) => options }
const app = {
  post(path: string, _raw: object, handle: Handler) {
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const status = (code: number) => ({ end: () => void response.writeHead(code).end() })
      await handle({ headers: request.headers, body: Buffer.concat(chunks) }, { status })
    })
    server.listen(0, '127.0.0.1', () => {
      const address = server.address() as { port: number }
      console.log('listening on', \`http://127.0.0.1:\${address.port}\${path}\`)
    })
  },
}
const makeReport = async (payload: { n: number }) => console.log('report', payload.n)
`

export const webhooks: Record<string, SetUp> = {
  'docs/guides/webhooks.md': {
    setUp: async (house) => {
      const sink = await Sink.listen()
      await deliver(house, 'weekly report', sink.url)
      delivered = await until('it is delivered', () => sink.deliveries[0])
      secret = (await house.client.signingSecrets.current()).secret
      await sink.close()
    },
    rules: [
      { of: '"job_name": "weekly report"', shows: () => Promise.resolve(delivered.body) },
      {
        of: 'verifyWebhook<',
        prelude: application,
        env: () => ({ WEBHOOK_SECRET: secret }),
        meanwhile: async (house, running) => {
          await running.printed(/listening on \S+\n/)
          const url = /listening on (\S+)/.exec(running.output)?.[1] ?? ''
          await runThat(house, await deliver(house, 'another report', url), 'success')
          await running.printed(/report 1/)
        },
      },
      {
        of: "from 'standardwebhooks'",
        prelude: `
          const rawBody = process.env.RAW_BODY!
          const headers = JSON.parse(process.env.HEADERS!) as Record<string, string>
        `,
        coda: "if ((run as { payload: { n: number } }).payload.n !== 1) throw new Error('another payload')",
        env: () => ({
          WEBHOOK_SECRET: secret,
          RAW_BODY: delivered.raw.toString(),
          HEADERS: JSON.stringify(delivered.headers),
        }),
      },
      {
        of: 'secrets retire sgn_…',
        before: async ({ client, placeholders }) => {
          const { data } = await client.signingSecrets.list()
          placeholders.set('sgn_…', data.find(({ retires_at }) => retires_at !== null)?.id ?? '')
        },
      },
    ],
  },
}
