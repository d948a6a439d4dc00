import type {
  ForecastQuery,
  LoadForecast,
  LoadSuggestion,
  PreviewInput,
  ScheduleExplanation,
  SchedulePreview,
  ServiceStatus,
  Stats,
  StatsHistory,
} from '@carillon/contract'
import type { CallApi } from './paths.js'
import { type StatsStreamOptions, streamStats } from './run-stream.js'
import type { TransportOptions } from './transport.js'

export interface InsightCalls {
  /** Whether the fleet does its work, and if not, why. */
  status(): Promise<ServiceStatus>
  /** Counts and delays of the whole tenant at one moment. */
  stats(): Promise<Stats>
  /** What ended in the last minutes, piece by piece; 60 minutes unless told. */
  statsHistory(query?: { minutes?: number }): Promise<StatsHistory>
  /** The numbers again and again, every two seconds: `for await (const stats of client.statsStream())`. */
  statsStream(options?: StatsStreamOptions): AsyncGenerator<Stats, void, undefined>
  /** The ticks that a schedule would have, computed by the engine that fires them. */
  preview(input: PreviewInput): Promise<SchedulePreview>
  /** A schedule in words. */
  explain(input: PreviewInput): Promise<ScheduleExplanation>
  readonly load: {
    /** Firings per minute of the next 24 hours, or per hour of the next 7 days. */
    forecast(query?: ForecastQuery): Promise<LoadForecast>
    /** Seconds at which much fires at once, and what jitter would do. */
    suggestion(): Promise<LoadSuggestion>
  }
}

export function insightCalls(call: CallApi, transport: TransportOptions): InsightCalls {
  return {
    status: () => call<ServiceStatus>({ method: 'GET', path: '/api/v1/status' }),
    stats: () => call<Stats>({ method: 'GET', path: '/api/v1/stats' }),
    statsHistory: (query = {}) =>
      call<StatsHistory>({ method: 'GET', path: '/api/v1/stats/history', query: { ...query } }),
    statsStream: (options) => streamStats(transport, options),
    preview: (input) => call<SchedulePreview>({ method: 'POST', path: '/api/v1/preview', body: input }),
    explain: (input) => call<ScheduleExplanation>({ method: 'POST', path: '/api/v1/explain', body: input }),
    load: {
      forecast: (query = {}) =>
        call<LoadForecast>({ method: 'GET', path: '/api/v1/load/forecast', query: { ...query } }),
      suggestion: () => call<LoadSuggestion>({ method: 'GET', path: '/api/v1/load/suggestion' }),
    },
  }
}
