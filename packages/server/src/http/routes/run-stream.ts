import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import type { RunStreamPort } from '../api.js'
import { EventStream } from '../event-stream.js'
import { commonErrors, operation } from '../openapi.js'
import { callerOf, resolveTenant } from '../tenant.js'

const streamOperation = operation({
  operationId: 'streamRuns',
  summary: 'Watch runs begin and end, as server-sent events',
  description:
    'An event `run` with a Run as data whenever one starts or ends, in any process of the fleet. Its `id` sent back as ' +
    'Last-Event-ID goes on after it, at any server, without gaps or doubles. `gap`: some were passed over. `dropped`: you read ' +
    'too slowly. `closing`: the server stops, or your key was revoked or has expired. A comment every 15 s.',
  tag: 'runs',
  querystring: Type.Object(
    { job_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Only of this job' })) },
    { additionalProperties: false },
  ),
  answers: {
    200: {
      description: 'Events, until you hang up',
      schema: { type: 'string' },
      mediaType: 'text/event-stream',
    },
  },
  errors: ['validation_failed', 'unknown_field', 'job_not_found', 'invalid_cursor', ...commonErrors],
})

export function addRunStreamRoute(app: FastifyInstance, streams: RunStreamPort): void {
  app.get<{ Querystring: { job_id?: string } }>('/runs/stream', {
    schema: streamOperation,
    // HEAD would wait for the end of a stream that has none.
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const last = request.headers['last-event-id']
      const from = typeof last === 'string' && last !== '' ? last : null
      const tenant = await resolveTenant(request)
      const source = await streams.prepare(tenant, { jobId: request.query.job_id ?? null, from })
      let leave = () => undefined as void
      const stream = new EventStream(reply, () => leave())
      stream.open()
      leave = source.start({
        onRuns(events, place) {
          stream.sendAll('run', events)
          stream.stand(place)
        },
        onGap: (gap, place) => stream.send('gap', place, JSON.stringify(gap)),
        onClosing: () => stream.end('closing', { reason: 'server_stops', detail: 'Connect again to go on.' }),
      })
      // A stream lasts longer than the look at the key that opened it: it ends with the key.
      const { signal } = callerOf(request)
      const detail = 'The key was revoked or has expired.'
      const end = () => stream.end('closing', { reason: 'key_ended', detail })
      signal.addEventListener('abort', end, { once: true })
      if (signal.aborted) end()
      // The reader may have hung up while the stream was opened.
      if (reply.raw.destroyed) leave()
    },
  })
}
