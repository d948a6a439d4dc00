import { type KeyboardEvent, useRef } from 'react'
import { duration, instant, viewerZone } from '../lib/format.js'
import { now } from '../lib/clock.js'
import { type Cell, outcomeWords, reasonText } from '../lib/ledger.js'
import { useShared } from '../lib/hooks.js'
import { Icon } from './icon.js'
import { lookOf } from './status.js'
import { zoneFor } from './time.js'

interface StripProps {
  cells: readonly Cell[]
  zone: string
  /** The tick that is explained below, ISO-8601. */
  chosen: string
  onChoose: (iso: string | null) => void
}

/** One cell for each entry of the ledger, as time goes. Its hue, its icon and its words say the same. */
export function Strip({ cells, zone, chosen, onChoose }: StripProps) {
  const { zone: choice } = useShared()
  const list = useRef<HTMLUListElement>(null)
  const shown = zoneFor(choice, zone)
  const chosenMs = Date.parse(chosen)
  const found = cells.findIndex(({ at }) => at === chosenMs)
  const focusable = found >= 0 ? found : cells.length - 1
  const move = (event: KeyboardEvent, from: number) => {
    const step = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0
    if (step === 0) return
    event.preventDefault()
    const next = cells[from + step]
    if (next === undefined) return
    list.current?.querySelectorAll('button')[from + step]?.focus()
    onChoose(iso(next))
  }
  const first = cells[0]
  const last = cells.at(-1)
  return (
    <div className="strip-frame">
      <ul className="strip" ref={list} aria-label="Ledger, the oldest first">
        {cells.map((cell, index) => {
          const [icon, hue] = lookOf(cell.outcome)
          const isChosen = index === found
          return (
            <li key={cell.runId + cell.at}>
              <button
                type="button"
                className={`cell ${hue} o-${cell.outcome}${cell.ticks > 1 ? ' many' : ''}`}
                aria-pressed={isChosen}
                tabIndex={index === focusable ? 0 : -1}
                title={said(cell, shown)}
                aria-label={said(cell, shown)}
                onClick={() => onChoose(isChosen ? null : iso(cell))}
                onKeyDown={(event) => move(event, index)}
              >
                <Icon name={icon} size={11} />
                {cell.ticks > 1 && <span className="cell-count">{cell.ticks > 99 ? '99+' : cell.ticks}</span>}
              </button>
            </li>
          )
        })}
      </ul>
      <div className="strip-foot">
        <span>{first !== undefined && instant(first.at, shown, now())}</span>
        <Legend cells={cells} />
        <span>{last !== undefined && instant(last.at, shown, now())}</span>
      </div>
    </div>
  )
}

function Legend({ cells }: { cells: readonly Cell[] }) {
  const there = [...new Set(cells.map(({ outcome }) => outcome))]
  return (
    <span className="legend">
      {there.map((outcome) => {
        const [icon, hue] = lookOf(outcome)
        return (
          <span key={outcome} className={`status ${hue}`}>
            <Icon name={icon} size={11} /> {outcomeWords[outcome]}
          </span>
        )
      })}
    </span>
  )
}

const iso = ({ at }: Cell) => new Date(at).toISOString()

function said(cell: Cell, zone: string): string {
  const parts = [
    instant(cell.at, zone === '' ? viewerZone() : zone, now()),
    outcomeWords[cell.outcome],
    cell.reason === null ? null : reasonText(cell.reason),
    cell.error,
    cell.ticks > 1 ? `${cell.ticks} ticks` : null,
    cell.lagMs === null ? null : `started after ${duration(cell.lagMs)}`,
    cell.durationMs === null ? null : `took ${duration(cell.durationMs)}`,
  ]
  return parts.filter((part) => part !== null && part !== '').join(', ')
}
