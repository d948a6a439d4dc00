import type { Run, Stats, StatsHistory } from '@carillon/contract'
import { useEffect, useRef, useState } from 'react'
import { learnServerTime } from './clock.js'
import { useShared, useVisible } from './hooks.js'
import { noPieces, type Pieces, shownMinutes, withPieces } from './pieces.js'
import { isUnauthenticated } from './session.js'

/** Null where nobody looked: the line breaks there. */
export interface LivePoint {
  at: number
  ready: number | null
  running: number | null
  waiting: number | null
}

export interface Live {
  stats: Stats | null
  points: readonly LivePoint[]
  /** What ended, piece by piece. */
  pieces: Pieces
  /** The stream broke, and is opened again. */
  broken: Error | null
}

/** Some twenty minutes at one event every two seconds. */
const mostPoints = 600

/**
 * The numbers as the server tells them, and the pieces of the charts as they are counted. The stream is closed while nobody looks at
 * the tab; whenever it is open again, what was counted meanwhile is asked for once.
 */
export function useLiveStats(): Live {
  const { api, onRefused } = useShared()
  const visible = useVisible()
  const [live, setLive] = useState<Live>({ stats: null, points: [], pieces: noPieces, broken: null })
  useEffect(() => {
    if (!visible) return
    const gone = new AbortController()
    let complete = false
    let asking = false
    let opened = 0
    const onHistory = (history: Pick<StatsHistory, 'through' | 'data'>) =>
      setLive((before) => ({ ...before, pieces: withPieces(before.pieces, history) }))
    const complement = async () => {
      const asked = opened
      asking = true
      const history = await api.statsHistory({ minutes: shownMinutes }).catch(() => null)
      asking = false
      // One that failed is asked for again with the next numbers.
      if (gone.signal.aborted || history === null) return
      onHistory(history)
      // A stream that was opened again since has a beginning of its own.
      if (asked === opened) complete = true
    }
    const onOpen = () => {
      opened++
      complete = false
      setLive((before) => ({ ...before, points: withBreak(before.points) }))
    }
    const onBreak = (broken: Error) => setLive((before) => ({ ...before, broken }))
    const follow = async () => {
      for await (const stats of api.statsStream({ signal: gone.signal, onOpen, onBreak, onHistory })) {
        learnServerTime(stats.now)
        setLive((before) => ({ ...before, stats, points: withPoint(before.points, stats), broken: null }))
        if (!complete && !asking) void complement()
      }
    }
    follow().catch((error: unknown) => {
      if (isUnauthenticated(error)) onRefused()
      else setLive((before) => ({ ...before, broken: error as Error }))
    })
    return () => gone.abort()
  }, [api, visible, onRefused])
  return live
}

export function withPoint(
  points: readonly LivePoint[],
  { now, queue }: Pick<Stats, 'now' | 'queue'>,
): LivePoint[] {
  const { ready, running, waiting, waiting_retry: retry, parked } = queue
  const point = { at: Date.parse(now) / 1_000, ready, running, waiting: waiting + retry + parked }
  const last = points.at(-1)
  // Counted once a second at most: the same numbers may come twice.
  if (last === undefined || point.at > last.at) return [...points.slice(1 - mostPoints), point]
  // A line never goes back; after the server's clock did, another begins.
  return point.at < last.at - 60 ? [point] : [...points]
}

/** From here on nothing is known, until something is again. */
export function withBreak(points: readonly LivePoint[]): LivePoint[] {
  const last = points.at(-1)
  if (last === undefined || last.ready === null) return [...points]
  return [...points.slice(1 - mostPoints), { at: last.at + 0.001, ready: null, running: null, waiting: null }]
}

/** Runs as they begin and end, the newest first: each once, in its latest state. */
export function useLiveRuns({ jobId, on, most = 200 }: { jobId?: string; on: boolean; most?: number }): {
  runs: readonly Run[]
  broken: Error | null
} {
  const { api, onRefused } = useShared()
  const visible = useVisible()
  const [runs, setRuns] = useState<readonly Run[]>([])
  const [broken, setBroken] = useState<Error | null>(null)
  const waiting = useRef<Run[]>([])
  // What was heard of others is none of this job's.
  useEffect(() => {
    waiting.current = []
    setRuns([])
  }, [jobId])
  useEffect(() => {
    if (!visible || !on) return
    const gone = new AbortController()
    // Thousands a second are shown a few times a second.
    const timer = setInterval(() => {
      const fresh = waiting.current.splice(0)
      if (fresh.length > 0) setRuns((before) => merged(before, fresh, most))
    }, 250)
    const follow = async () => {
      const onOpen = () => setBroken(null)
      const options = {
        signal: gone.signal,
        onOpen,
        onBreak: setBroken,
        ...(jobId !== undefined && { jobId }),
      }
      for await (const { run } of api.runs.stream(options)) waiting.current.push(run)
    }
    follow().catch((error: unknown) => (isUnauthenticated(error) ? onRefused() : setBroken(error as Error)))
    return () => {
      gone.abort()
      clearInterval(timer)
    }
  }, [api, visible, on, jobId, most, onRefused])
  return { runs, broken }
}

export function merged(before: readonly Run[], fresh: readonly Run[], most: number): Run[] {
  const newest = new Map<string, Run>()
  for (const run of fresh.toReversed()) if (!newest.has(run.run_id)) newest.set(run.run_id, run)
  for (const run of before) if (!newest.has(run.run_id)) newest.set(run.run_id, run)
  return [...newest.values()].slice(0, most)
}
