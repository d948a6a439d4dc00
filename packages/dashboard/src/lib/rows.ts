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

/** j and k move, x selects, Enter opens: the same in every list. */
export function useRowKeys(ids: readonly string[], open: (id: string) => void, selectable = false): RowKeys {
  const [at, setAt] = useState(-1)
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
      if (event.key === 'j') setAt(Math.min(at + 1, ids.length - 1))
      else if (event.key === 'k') setAt(Math.max(at - 1, 0))
      else if (event.key === 'x' && selectable && current !== undefined) toggle(current)
      else if (event.key === 'Enter' && current !== undefined && event.target === document.body) open(current)
      else if (event.key === 'Escape') clear()
      else return
      event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [ids, at, open, selectable, toggle, clear])
  useEffect(() => {
    document.querySelector('tr[data-at="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [at])
  const selectAll = (all: boolean) => setSelected(all ? new Set(ids) : new Set())
  return { at, selected, toggle, selectAll, clear }
}
