import type { Run, Stats, StatsHistory } from '@carillon/contract'
import { type EventStreamOptions, streamEvents } from './event-stream.js'
import type { TransportOptions } from './transport.js'

export interface StreamOptions extends EventStreamOptions {
  jobId?: string
  /** Told when the server passed over some events, e.g. because they are older than what it keeps. */
  onGap?: () => void
}

export interface RunEvent {
  /** To go on after it: `after` of another stream. */
  id: string | undefined
  run: Run
}

/** Every change of a run as it happens. */
export async function* streamRuns(
  transport: TransportOptions,
  { jobId, onGap, ...options }: StreamOptions = {},
): AsyncGenerator<RunEvent, void, undefined> {
  const call = { path: '/api/v1/runs/stream', query: { job_id: jobId } }
  for await (const { event, id, data } of streamEvents(transport, call, options)) {
    if (event === 'gap') onGap?.()
    if (event === 'run' && data !== '') yield { id, run: JSON.parse(data) as Run }
  }
}

export interface StatsStreamOptions extends Omit<EventStreamOptions, 'after'> {
  /**
   * Told of each piece of five seconds once it is counted. What was before comes with `statsHistory`: asked for in `onOpen`, it
   * leaves no gap.
   */
  onHistory?: (pieces: StatsHistory) => void
}

/** The numbers, every two seconds. */
export async function* streamStats(
  transport: TransportOptions,
  { onHistory, ...options }: StatsStreamOptions = {},
): AsyncGenerator<Stats, void, undefined> {
  for await (const { event, data } of streamEvents(transport, { path: '/api/v1/stats/stream' }, options)) {
    if (event === 'history') onHistory?.(JSON.parse(data) as StatsHistory)
    if (event === 'stats') yield JSON.parse(data) as Stats
  }
}
