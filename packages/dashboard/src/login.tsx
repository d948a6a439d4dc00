import { type FormEvent, useState } from 'react'
import { TextField } from './ui/field.js'
import { Note } from './ui/pieces.js'

/** Where keys are required. The key stays in this tab. */
export function Login({ refused, onKey }: { refused: boolean; onKey: (key: string) => Promise<void> }) {
  const [key, setKey] = useState('')
  const [busy, setBusy] = useState(false)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    await onKey(key.trim())
    setBusy(false)
  }
  return (
    <main className="login">
      <form onSubmit={(event) => void submit(event)} className="form panel">
        <h1>
          <img src="/favicon.svg" alt="" width="26" height="26" /> Carillon
        </h1>
        <p className="quiet">This server asks for an API key.</p>
        {refused && <Note kind="bad">The key is unknown, revoked or expired.</Note>}
        <TextField
          label="API key"
          value={key}
          onChange={setKey}
          type="password"
          placeholder="car_…"
          mono
          required
          autoFocus
          hint="Kept in this tab until you close it. A key of the role viewer is enough to look."
        />
        <button className="button main" type="submit" disabled={busy || key.trim() === ''}>
          {busy ? 'Asking…' : 'Sign in'}
        </button>
      </form>
    </main>
  )
}
