import { Stats, StatsHistory, statsHistoryLimits } from '@carillon/contract'
import { Type } from 'typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type Clock, systemClock } from '../../platform/clock.js'
import type { StatsPort } from '../api.js'
import { EventStream } from '../event-stream.js'
import { commonErrors, operation } from '../openapi.js'
import { integersIn } from '../page.js'
import { refTo } from '../schemas.js'
import { StatsPieces } from '../stats-pieces.js'
import { callerOf, resolveTenant } from '../tenant.js'

const statsOperation = operation({
  operationId: 'getStats',
  summary: 'See how things go, in numbers',
  description:
    'Jobs, runs in flight, and what became of the runs of the last minute and hour. Counted at most once a second, and less ' +
    'often where counting takes long: `now` says when.',
  tag: 'operations',
  answers: { 200: { description: 'The numbers', schema: refTo(Stats) } },
  errors: [...commonErrors],
})

const historyOperation = operation({
  operationId: 'getStatsHistory',
  summary: 'See how things went: the counts of the last minutes, piece by piece',
  tag: 'operations',
  querystring: Type.Object(
    {
      minutes: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: statsHistoryLimits.minutes,
          default: statsHistoryLimits.defaultMinutes,
          description: 'How far back',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  answers: { 200: { description: 'The counts', schema: refTo(StatsHistory) } },
  errors: ['validation_failed', 'unknown_field', ...commonErrors],
})

const streamOperation = operation({
  operationId: 'streamStats',
  summary: 'Watch how things go, as server-sent events',
  description:
    'An event `stats` with Stats as data at once and then every two seconds. An event `history` with StatsHistory as data at ' +
    'once, without pieces, and then whenever a piece of five seconds is counted: `through` says up to where, and a piece in ' +
    'which nothing ended is left out. What was before the first one, GET /stats/history has: asked for once the stream is ' +
    'open, it leaves no gap. `closing`: the server stops, or your key was revoked or has expired. A comment every 15 s.',
  tag: 'operations',
  answers: {
    200: {
      description: 'Events, until you hang up',
      schema: { type: 'string' },
      mediaType: 'text/event-stream',
    },
  },
  errors: [...commonErrors],
})

const toldEveryMs = 2_000

export function addStatsRoute(app: FastifyInstance, stats: StatsPort, clock: Clock = systemClock): void {
  app.get('/stats', {
    schema: statsOperation,
    handler: async (request) => stats.get(await resolveTenant(request)),
  })

  app.get<{ Querystring: { minutes?: number } }>('/stats/history', {
    schema: historyOperation,
    preValidation: integersIn('minutes'),
    handler: async (request) => {
      const { minutes = statsHistoryLimits.defaultMinutes } = request.query
      return stats.history(await resolveTenant(request), minutes)
    },
  })

  const open = new Set<StatsStream>()
  // Before the server waits for its connections to end: these would not by themselves.
  app.addHook('preClose', (done) => {
    for (const stream of open) stream.close('server_stops', 'Connect again to go on.')
    done()
  })
  app.get('/stats/stream', {
    schema: streamOperation,
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const tenant = await resolveTenant(request)
      // Refused before anything is sent, where the numbers cannot be had. And whoever asks for the history once the stream is
      // open has all that was before it.
      const [, { through }] = await Promise.all([stats.get(tenant), stats.recent(tenant)])
      const stream = new StatsStream(reply, {
        look: () => stats.get(tenant),
        history: new StatsPieces(stats, tenant, Date.parse(through)),
        clock,
        onClosed: () => open.delete(stream),
      })
      open.add(stream)
      stream.open()
      const { signal } = callerOf(request)
      const end = () => stream.close('key_ended', 'The key was revoked or has expired.')
      signal.addEventListener('abort', end, { once: true })
      if (signal.aborted) end()
      else stream.begin()
    },
  })
}

/** Tells one reader the numbers, again and again. What many are told within a second is counted once: see Stats. */
class StatsStream {
  private readonly events: EventStream
  private callOff: () => void = () => undefined
  private closed = false

  constructor(
    reply: FastifyReply,
    private readonly options: {
      look: () => Promise<Stats>
      history: StatsPieces
      clock: Clock
      onClosed: () => void
    },
  ) {
    this.events = new EventStream(
      reply,
      () => {
        this.closed = true
        this.callOff()
        options.onClosed()
      },
      options.clock,
    )
  }

  /** Apart from the making: a reader that has gone ends the stream at once, and whoever made it must know it by then. */
  open(): void {
    this.events.open()
  }

  begin(): void {
    if (!this.closed) void this.tell()
  }

  close(reason: string, detail: string): void {
    this.events.end('closing', { reason, detail })
  }

  private async tell(): Promise<void> {
    // A look that fails is left out: the next one comes soon, and silence shows the reader that nothing is new.
    const seen = await this.options.look().catch(() => null)
    const pieces = await this.options.history.next().catch(() => null)
    if (this.closed) return
    if (seen !== null) this.events.send('stats', null, JSON.stringify(seen))
    if (pieces !== null) this.events.send('history', null, JSON.stringify(pieces))
    this.callOff = this.options.clock.after(toldEveryMs, () => void this.tell())
  }
}
