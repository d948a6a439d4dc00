import { useEffect, useState } from 'react'
import type { ZoneChoice } from './lib/format.js'
import { viewerZone } from './lib/format.js'
import { useQuery, useShared } from './lib/hooks.js'
import { chooseTheme, storedTheme, type Theme } from './lib/theme.js'
import { Icon } from './ui/icon.js'
import { Button } from './ui/pieces.js'
import { Status } from './ui/status.js'

interface Readiness {
  ready: boolean
  failing: string[]
}

/** Not through the API: it answers without a key, and also where the server is not ready. */
async function readiness(signal: AbortSignal): Promise<Readiness> {
  const answer = await fetch('/readyz', { signal: AbortSignal.any([signal, AbortSignal.timeout(5_000)]) })
  const { checks = {} } = (await answer.json()) as {
    checks?: Record<string, { ok: boolean; detail?: string }>
  }
  const failing = Object.entries(checks)
    .filter(([, { ok }]) => !ok)
    .map(([name, { detail }]) => (detail === undefined ? name : `${name}: ${detail}`))
  return { ready: answer.ok, failing }
}

export function TopBar(props: { onPalette: () => void; onHelp: () => void; onLeave: () => void }) {
  const { self, hasKey } = useShared()
  return (
    <header className="top-bar">
      <button type="button" className="palette-opener" onClick={props.onPalette}>
        <Icon name="search" />
        <span>Go to…</span>
        <kbd>Ctrl K</kbd>
      </button>
      <ServerState />
      <span className="spring" />
      <ZoneSwitch />
      <span className="who" title={`Tenant ${self.tenant}, role ${self.role}`}>
        {self.actor} <span className="aside">{self.role}</span>
      </span>
      {hasKey && <Button onClick={props.onLeave}>Sign out</Button>}
      <ThemeSwitch />
      <Button look="bare" aria-label="Keyboard help" title="Keyboard (?)" onClick={props.onHelp}>
        ?
      </Button>
    </header>
  )
}

function ServerState() {
  const { data, error } = useQuery('readyz', readiness, { every: 5_000 })
  const words = error !== null ? 'No answer' : data?.ready === false ? 'Not ready' : 'Ready'
  if (data === undefined && error === null) return <span className="server-state" />
  const bad = error !== null || data?.ready === false
  return (
    <span className="server-state" role="status">
      <Status state={bad ? 'not_ready' : 'ready'} words={words} />
      {bad && data !== undefined && <span className="aside">{data.failing.join(' · ')}</span>}
    </span>
  )
}

const choices: [ZoneChoice, string][] = [
  ['local', 'Local'],
  ['utc', 'UTC'],
  ['job', 'Job'],
]

function ZoneSwitch() {
  const { zone, setZone } = useShared()
  return (
    <div className="segmented" role="group" aria-label="Time zone of what is shown">
      {choices.map(([choice, words]) => (
        <button
          key={choice}
          type="button"
          aria-pressed={zone === choice}
          title={choice === 'local' ? viewerZone() : choice === 'job' ? 'The zone of each job' : 'UTC'}
          onClick={() => setZone(choice)}
        >
          {words}
        </button>
      ))}
    </div>
  )
}

function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(storedTheme)
  useEffect(() => {
    const follow = () => setTheme(document.documentElement.dataset['theme'] as Theme)
    addEventListener('carillon:theme', follow)
    return () => removeEventListener('carillon:theme', follow)
  }, [])
  const other = theme === 'dark' ? 'light' : 'dark'
  return (
    <Button
      look="bare"
      aria-label={`Switch to ${other}`}
      title={`Switch to ${other}`}
      onClick={() => chooseTheme(other)}
    >
      <Icon name={theme === 'dark' ? 'sun' : 'moon'} size={16} />
    </Button>
  )
}
