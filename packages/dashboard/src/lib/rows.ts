import { useCallback, useEffect, useState } from 'react'
import { isElsewhere } from './typing.js'

export interface RowKeys {
  /** The row that the keyboard is on; −1: none. */
  at: number
  selected: ReadonlySet<string>
  toggle: (id: string) => void
  selectAll: (all: boolean) => void
  clear: () => void
}

/**
 * j and k move, x selects, Enter opens: the same in every list. `scope`: what the list is a list of. Rows that were selected in another one are not: nobody changes what they do not see.
 * The keyboard stays on its row where that moves; where it is gone, on its place.
 */
export function useRowKeys(
  ids: readonly string[],
  open: (id: string) => void,
  { selectable = false, scope = '' }: { selectable?: boolean; scope?: string } = {},
): RowKeys {
  const [on, setOn] = useState<{ id: string; at: number } | null>(null)
  const at = placeIn(ids, on)
  const setAt = useCallback((next: number, rows: readonly string[]) => {
    const id = rows[next]
    setOn(id === undefined ? null : { id, at: next })
  }, [])
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const toggle = useCallback((id: string) => {
    setSelected((before) => {
      const after = new Set(before)
      if (!after.delete(id)) after.add(id)
      return after
    })
  }, [])
  const clear = useCallback(() => setSelected(new Set()), [])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isElsewhere(event) || event.metaKey || event.ctrlKey || event.altKey) return
      const current = ids[at]
      if (event.key === 'j') setAt(Math.min(at + 1, ids.length - 1), ids)
      else if (event.key === 'k') setAt(Math.max(at - 1, 0), ids)
      else if (event.key === 'x' && selectable && current !== undefined) toggle(current)
      else if (event.key === 'Enter' && current !== undefined && isNowhere(event.target)) open(current)
      else if (event.key === 'Escape') clear()
      else return
      event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [ids, at, open, selectable, toggle, clear, setAt])
  useEffect(clear, [scope, clear])
  useEffect(() => {
    document.querySelector('tr[data-at="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [at])
  const selectAll = (all: boolean) => setSelected(all ? new Set(ids) : new Set())
  return { at, selected, toggle, selectAll, clear }
}

/** Nothing has the focus that Enter would press. */
function isNowhere(target: EventTarget | null): boolean {
  return target === document.body || (target instanceof HTMLElement && target.id === 'main')
}

export function placeIn(ids: readonly string[], on: { id: string; at: number } | null): number {
  if (on === null) return -1
  const now = ids.indexOf(on.id)
  return now >= 0 ? now : Math.min(on.at, ids.length - 1)
}
