import type { ReactNode } from 'react'
import { useAction } from '../lib/hooks.js'
import { Ask } from './dialog.js'

/** Asks once more before something is done that cannot be taken back. */
export function Confirm({
  title,
  confirm,
  done,
  work,
  onDone,
  onClose,
  children,
}: {
  title: string
  confirm: string
  /** What is said when it is done. */
  done: string
  work: () => Promise<unknown>
  onDone: () => void
  onClose: () => void
  children?: ReactNode
}) {
  const action = useAction()
  const submit = async () => {
    if (!(await action.run(work, done))) return
    onClose()
    onDone()
  }
  return (
    <Ask
      title={title}
      action={action}
      confirm={confirm}
      danger
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      {children}
    </Ask>
  )
}
