import { type FormEvent, type ReactNode, useEffect, useRef } from 'react'
import type { Action } from '../lib/hooks.js'
import { Button, ErrorNote } from './pieces.js'

/** The browser's own dialog: it keeps the focus inside, closes on Escape and gives the focus back. */
export function Dialog({
  title,
  onClose,
  children,
  wide = false,
}: {
  title: string
  onClose: () => void
  children: ReactNode
  wide?: boolean
}) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = element.current
    if (dialog !== null && !dialog.open) {
      dialog.showModal()
      // The browser would begin at the button that closes it; people came for the first field.
      dialog.querySelector<HTMLElement>('input, select, textarea')?.focus()
    }
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={element}
      className={wide ? 'dialog wide' : 'dialog'}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onMouseDown={(event) => {
        if (event.target === element.current) onClose()
      }}
    >
      <div className="dialog-body">
        <header className="dialog-head">
          <h2>{title}</h2>
          <Button look="bare" icon="cross" aria-label="Close" onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  )
}

/** A dialog that asks for one thing to be done. */
export function Ask({
  title,
  action,
  confirm,
  danger = false,
  disabled = false,
  onSubmit,
  onClose,
  children,
  wide = false,
}: {
  title: string
  action: Action
  confirm: string
  danger?: boolean
  disabled?: boolean
  onSubmit: () => void
  onClose: () => void
  children?: ReactNode
  wide?: boolean
}) {
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!disabled && !action.busy) onSubmit()
  }
  return (
    <Dialog title={title} onClose={onClose} wide={wide}>
      <form onSubmit={submit} className="form">
        {children}
        {action.error !== null && <ErrorNote error={action.error} />}
        <footer className="dialog-foot">
          <Button onClick={onClose}>Back</Button>
          <button
            className={`button ${danger ? 'danger' : 'main'}`}
            type="submit"
            disabled={disabled || action.busy}
          >
            {action.busy ? 'Working…' : confirm}
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
