import {
  CloseAnswer,
  CloseInput,
  HeartbeatAnswer,
  HeartbeatInput,
  LeaseAnswer,
  LeaseInput,
} from '@carillon/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { LeasesPort } from '../api.js'
import { emptyBody } from '../json-body.js'
import { bodyErrors, commonErrors, operation } from '../openapi.js'
import { refTo } from '../schemas.js'
import { callerOf, resolveTenant } from '../tenant.js'

const leaseOperation = operation({
  operationId: 'leaseRuns',
  summary: 'Take runs to work on; waits for some',
  description:
    'Answers as soon as runs of the named tasks are due, never before. The first call makes the worker; all further ' +
    'calls carry its worker_id, and any process of the fleet may answer them. Each run is held until it is closed, its ' +
    'worker is silent for lease_seconds, or its time is up.',
  tag: 'workers',
  body: refTo(LeaseInput),
  answers: {
    200: {
      description: 'The runs that the worker holds from now on; none came: an empty list',
      schema: refTo(LeaseAnswer),
    },
  },
  errors: [...bodyErrors, 'worker_not_found', 'worker_gone', 'draining', ...commonErrors],
})

const heartbeatOperation = operation({
  operationId: 'sendHeartbeat',
  summary: 'Say that a worker is alive; hear which of its runs are to stop',
  tag: 'workers',
  body: refTo(HeartbeatInput),
  answers: { 200: { description: 'How the runs of the worker stand', schema: refTo(HeartbeatAnswer) } },
  errors: [...bodyErrors, 'worker_not_found', 'worker_gone', ...commonErrors],
})

const closeOperation = operation({
  operationId: 'closeRuns',
  summary: 'Report how runs ended, or hand them back',
  description:
    'May be sent again after a lost answer: what is recorded already answers already_closed. The word of a worker ' +
    'that was declared dead is kept as stale.',
  tag: 'workers',
  body: refTo(CloseInput),
  answers: { 200: { description: 'What became of each result', schema: refTo(CloseAnswer) } },
  errors: [...bodyErrors, 'worker_not_found', 'run_not_found', ...commonErrors],
})

export function addLeaseRoutes(app: FastifyInstance, leases: LeasesPort): void {
  app.post<{ Body: LeaseInput }>('/leases', {
    schema: leaseOperation,
    preValidation: needsBody,
    handler: async (request, reply) =>
      leases.lease(
        await resolveTenant(request),
        request.body,
        // A revoked key shall not be handed runs by a call that waits.
        AbortSignal.any([hungUp(reply), callerOf(request).signal]),
      ),
  })

  app.post<{ Body: HeartbeatInput }>('/leases/heartbeat', {
    schema: heartbeatOperation,
    preValidation: needsBody,
    handler: async (request) => leases.heartbeat(await resolveTenant(request), request.body),
  })

  app.post<{ Body: CloseInput }>('/leases/close', {
    schema: closeOperation,
    preValidation: needsBody,
    handler: async (request) => leases.close(await resolveTenant(request), request.body),
  })
}

/** Aborts when the connection is gone before the whole answer was handed to it. */
function hungUp(reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort()
  })
  return gone.signal
}

function needsBody(request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  done(request.body === undefined ? emptyBody() : undefined)
}
