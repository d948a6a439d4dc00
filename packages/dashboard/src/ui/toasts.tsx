import { useCallback, useRef, useState } from 'react'
import { Icon } from './icon.js'

export interface Toast {
  id: number
  message: string
  kind: 'good' | 'bad'
}

const shownMs = 5_000

export function useToasts() {
  const [toasts, setToasts] = useState<Toast[]>([])
  const last = useRef(0)
  const toast = useCallback((message: string, kind: 'good' | 'bad' = 'good') => {
    const id = ++last.current
    setToasts((before) => [...before.slice(-3), { id, message, kind }])
    setTimeout(() => setToasts((before) => before.filter((one) => one.id !== id)), shownMs)
  }, [])
  return { toasts, toast }
}

export function Toasts({ toasts }: { toasts: readonly Toast[] }) {
  return (
    <div className="toasts" role="status" aria-live="polite">
      {toasts.map(({ id, message, kind }) => (
        <div key={id} className={`toast ${kind}`}>
          <Icon name={kind === 'good' ? 'check' : 'warn'} />
          {message}
        </div>
      ))}
    </div>
  )
}
