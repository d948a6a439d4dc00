import { useCallback, useEffect, useMemo, useState } from 'react'
import { type Shared, SharedContext } from './lib/hooks.js'
import { clientFor, isUnauthenticated, type Session, sessionOf, storedKey, storeKey } from './lib/session.js'
import type { ZoneChoice } from './lib/format.js'
import { Login } from './login.js'
import { Shell } from './shell.js'
import { ErrorNote, Skeleton } from './ui/pieces.js'
import { Toasts, useToasts } from './ui/toasts.js'

type State =
  | { is: 'asking' }
  | { is: 'login'; refused: boolean }
  | { is: 'failed'; error: Error }
  | { is: 'in'; session: Session }

/** Who is looking decides what is shown: nobody, a login, or the shell with its views. */
export function App() {
  const [state, setState] = useState<State>({ is: 'asking' })
  const { toasts, toast } = useToasts()
  const [zone, setZone] = useState<ZoneChoice>(storedZone)

  const enter = useCallback(async (key: string | null) => {
    const api = clientFor(key)
    try {
      const self = await api.keys.self()
      if (key !== null) storeKey(key)
      setState({ is: 'in', session: sessionOf(api, self, key !== null) })
    } catch (error) {
      if (isUnauthenticated(error)) {
        storeKey(null)
        setState({ is: 'login', refused: key !== null })
      } else setState({ is: 'failed', error: error as Error })
    }
  }, [])
  useEffect(() => void enter(storedKey()), [enter])
  // A server that was away is asked again: whoever watches sees it come back.
  useEffect(() => {
    if (state.is !== 'failed') return
    const timer = setTimeout(() => void enter(storedKey()), 3_000)
    return () => clearTimeout(timer)
  }, [state, enter])

  const leave = useCallback((refused: boolean) => {
    storeKey(null)
    setState({ is: 'login', refused })
  }, [])
  // The same one always: whatever asks begins anew with another.
  const refuse = useCallback(() => leave(true), [leave])
  const session = state.is === 'in' ? state.session : null
  const shared = useMemo<Shared | null>(
    () =>
      session && {
        ...session,
        zone,
        setZone: (choice) => {
          storeZone(choice)
          setZone(choice)
        },
        onRefused: refuse,
        toast,
      },
    [session, zone, toast, refuse],
  )

  if (state.is === 'login') return <Login refused={state.refused} onKey={enter} />
  if (shared === null) {
    return (
      <main className="alone">
        {state.is === 'failed' ? (
          <ErrorNote error={state.error} onRetry={() => void enter(storedKey())} />
        ) : (
          <Skeleton rows={4} />
        )}
      </main>
    )
  }
  return (
    <SharedContext.Provider value={shared}>
      <Shell onLeave={() => leave(false)} />
      <Toasts toasts={toasts} />
    </SharedContext.Provider>
  )
}

const zoneSlot = 'carillon.zone'

function storedZone(): ZoneChoice {
  try {
    const stored = localStorage.getItem(zoneSlot)
    if (stored === 'utc' || stored === 'local' || stored === 'job') return stored
  } catch {
    // Without storage: the viewer's own.
  }
  return 'local'
}

function storeZone(zone: ZoneChoice): void {
  try {
    localStorage.setItem(zoneSlot, zone)
  } catch {
    // It holds until the page is left.
  }
}
