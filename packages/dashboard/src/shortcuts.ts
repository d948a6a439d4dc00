import { useEffect } from 'react'
import { navigate } from './lib/router.js'
import { isElsewhere } from './lib/typing.js'
import { views } from './views.js'

const patienceMs = 1_200

/** The keys that work in every view. */
export function useShortcuts(open: (what: 'palette' | 'help') => void): void {
  useEffect(() => {
    // Never: the time of events is counted from when the page was loaded, and may be small.
    let wentAt = Number.NEGATIVE_INFINITY
    const onKey = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        return open('palette')
      }
      if (isElsewhere(event) || event.metaKey || event.ctrlKey || event.altKey) return
      if (event.timeStamp - wentAt < patienceMs) {
        wentAt = Number.NEGATIVE_INFINITY
        const view = views.find(({ key }) => key === event.key)
        if (view === undefined) return
        event.preventDefault()
        // j and k also move in lists: this press was for going.
        event.stopImmediatePropagation()
        return navigate(view.path)
      }
      if (event.key === 'g') wentAt = event.timeStamp
      else if (event.key === '?') open('help')
      else if (event.key === '/') focusSearch(event)
    }
    addEventListener('keydown', onKey, { capture: true })
    return () => removeEventListener('keydown', onKey, { capture: true })
  }, [open])
}

function focusSearch(event: KeyboardEvent): void {
  const field = document.querySelector<HTMLInputElement>('input[data-search]')
  event.preventDefault()
  if (field === null) return navigate('/jobs?focus=search')
  field.focus()
  field.select()
}
