import type { Run, Stats } from '@carillon/contract'
import { useEffect, useRef, useState } from 'react'
import { learnServerTime } from './clock.js'
import { useShared, useVisible } from './hooks.js'
import { isUnauthenticated } from './session.js'

export interface LivePoint {
  at: number
  ready: number
  running: number
  waiting: number
}

export interface Live {
  stats: Stats | null
  points: readonly LivePoint[]
  /** The stream broke, and is opened again. */
  broken: Error | null
}

/** Some twenty minutes at one event every two seconds. */
const mostPoints = 600

/** The numbers as the server tells them. The stream is closed while nobody looks at the tab. */
export function useLiveStats(): Live {
  const { api, onRefused } = useShared()
  const visible = useVisible()
  const [live, setLive] = useState<Live>({ stats: null, points: [], broken: null })
  useEffect(() => {
    if (!visible) return
    const gone = new AbortController()
    const follow = async () => {
      const onBreak = (broken: Error) => setLive((before) => ({ ...before, broken }))
      for await (const stats of api.statsStream({ signal: gone.signal, onBreak })) {
        learnServerTime(stats.now)
        const { ready, running, waiting_retry: waiting, parked } = stats.queue
        const point = { at: Date.parse(stats.now) / 1_000, ready, running, waiting: waiting + parked }
        setLive(({ points }) => {
          // Counted once a second at most: the same numbers may come twice.
          const known = points.at(-1)?.at === point.at ? points : [...points.slice(1 - mostPoints), point]
          return { stats, points: known, broken: null }
        })
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
