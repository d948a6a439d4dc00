import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import { beatOf } from './beat.js'
import { isUnauthenticated, type Session } from './session.js'
import type { ZoneChoice } from './format.js'

export interface Shared extends Session {
  zone: ZoneChoice
  setZone: (zone: ZoneChoice) => void
  /** The key was refused: back to the login. */
  onRefused: () => void
  toast: (message: string, kind?: 'good' | 'bad') => void
}

export const SharedContext = createContext<Shared | null>(null)

export function useShared(): Shared {
  const shared = useContext(SharedContext)
  if (shared === null) throw new Error('Outside of the shell.')
  return shared
}

export interface Query<T> {
  data: T | undefined
  error: Error | null
  /** Nothing is there yet. */
  loading: boolean
  reload: () => void
}

/**
 * Asks, keeps the last answer while it asks again, and asks every so often while somebody looks. `key` is all that the
 * question depends on; an answer to an earlier one is dropped. `keep` shows the last answer until that to a new question is
 * there: a list does not vanish while somebody types.
 */
export function useQuery<T>(
  key: string | null,
  ask: (signal: AbortSignal) => Promise<T>,
  { every, keep = false }: { every?: number | undefined; keep?: boolean } = {},
): Query<T> {
  const { onRefused } = useShared()
  const [state, setState] = useState<{ key: string | null; data?: T; error: Error | null }>({
    key: null,
    error: null,
  })
  const [turn, setTurn] = useState(0)
  const asking = useRef(ask)
  asking.current = ask
  const visible = useVisible()

  useEffect(() => {
    if (key === null || !visible) return
    const gone = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const look = async () => {
      try {
        const data = await asking.current(gone.signal)
        if (!gone.signal.aborted) setState({ key, data, error: null })
      } catch (error) {
        if (gone.signal.aborted) return
        if (isUnauthenticated(error)) onRefused()
        setState((before) => ({
          key,
          ...(before.key === key && before.data !== undefined && { data: before.data }),
          error: error as Error,
        }))
      }
      if (every !== undefined && !gone.signal.aborted) timer = setTimeout(() => void look(), every)
    }
    void look()
    return () => {
      gone.abort()
      clearTimeout(timer)
    }
  }, [key, turn, every, visible, onRefused])

  const reload = useCallback(() => setTurn((before) => before + 1), [])
  const mine = state.key === key
  const data = mine || keep ? state.data : undefined
  const error = mine ? state.error : null
  return {
    data,
    error,
    loading: key !== null && data === undefined && error === null,
    reload,
  }
}

/** Whether the tab is seen: what nobody looks at asks for nothing. */
export function useVisible(): boolean {
  const [visible, setVisible] = useState(() => !document.hidden)
  useEffect(() => {
    const change = () => setVisible(!document.hidden)
    document.addEventListener('visibilitychange', change)
    return () => document.removeEventListener('visibilitychange', change)
  }, [])
  return visible
}

/** The time, told anew every so often, for "in 4 s". A page has hundreds of these: all of one pace share one timer. */
export function useNow(every = 1_000): number {
  const beat = beatOf(every)
  return useSyncExternalStore(beat.subscribe, beat.time)
}

/** A value once it has rested: search as you type asks when the typing pauses. */
export function useRested<T>(value: T, ms = 150): T {
  const [rested, setRested] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return rested
}

export interface Action {
  busy: boolean
  error: Error | null
  run: (work: () => Promise<unknown>, done?: string) => Promise<boolean>
  clear: () => void
}

/** A change that somebody asked for: one at a time, its failure shown where it was asked for. */
export function useAction(): Action {
  const { toast, onRefused } = useShared()
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const run = useCallback(
    async (work: () => Promise<unknown>, done?: string) => {
      setBusy(true)
      setError(null)
      try {
        await work()
        if (done !== undefined) toast(done)
        return true
      } catch (failure) {
        if (isUnauthenticated(failure)) onRefused()
        setError(failure as Error)
        return false
      } finally {
        setBusy(false)
      }
    },
    [toast, onRefused],
  )
  return { busy, error, run, clear: () => setError(null) }
}
