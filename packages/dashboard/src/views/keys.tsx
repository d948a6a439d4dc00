import type { ApiKey, RevealedKey, Role } from '@carillon/contract'
import { useState } from 'react'
import { useAction, useQuery, useShared } from '../lib/hooks.js'
import { useParam } from '../lib/router.js'
import { Columns } from '../ui/columns.js'
import { Ask, Dialog } from '../ui/dialog.js'
import { SelectField, TextField } from '../ui/field.js'
import { Button, Code, Empty, ErrorNote, Note, PageHead, Skeleton } from '../ui/pieces.js'
import { Status } from '../ui/status.js'
import { Ago, Time } from '../ui/time.js'
import { Pager } from './jobs.js'

type Asked =
  | { what: 'create' }
  | { what: 'rotate' | 'revoke'; key: ApiKey }
  | { what: 'show'; key: RevealedKey }
  | null

export default function Keys() {
  const { api, mayAdmin, self } = useShared()
  const [cursor] = useParam('cursor')
  const [asked, setAsked] = useState<Asked>(null)
  const keys = useQuery(
    mayAdmin ? `keys ${cursor}` : null,
    () => api.keys.list({ limit: 50, ...(cursor !== '' && { cursor }) }),
    { every: 10_000 },
  )
  if (!mayAdmin) return <Note kind="warn">Only a key of the role admin sees the keys.</Note>
  const rows = keys.data?.data ?? []
  const done = (key?: RevealedKey) => {
    setAsked(key === undefined ? null : { what: 'show', key })
    keys.reload()
  }
  return (
    <>
      <PageHead
        title="Keys"
        below={<p className="quiet">Of the tenant {self.tenant}. A secret is shown once, when it is made.</p>}
      >
        <Button icon="plus" look="main" onClick={() => setAsked({ what: 'create' })}>
          Create key
        </Button>
      </PageHead>
      {keys.error !== null && <ErrorNote error={keys.error} onRetry={keys.reload} />}
      {keys.loading && <Skeleton rows={5} />}
      {keys.data !== undefined && rows.length === 0 && (
        <Empty icon="key" title="No keys yet.">
          <p className="quiet">Without keys everybody who reaches the port may do everything.</p>
        </Empty>
      )}
      {rows.length > 0 && <KeyTable rows={rows} onAsk={setAsked} />}
      <Pager next={keys.data?.next_cursor ?? null} shown={rows.length} />
      {asked?.what === 'create' && <CreateKey onClose={() => setAsked(null)} onDone={done} />}
      {(asked?.what === 'rotate' || asked?.what === 'revoke') && (
        <ChangeKey what={asked.what} apiKey={asked.key} onClose={() => setAsked(null)} onDone={done} />
      )}
      {asked?.what === 'show' && (
        <Dialog title={`Key ${asked.key.name}`} onClose={() => setAsked(null)}>
          <Note kind="warn">Copy it now: nobody can read it again.</Note>
          <Code text={asked.key.key} label="The key" />
        </Dialog>
      )}
    </>
  )
}

function KeyTable({ rows, onAsk }: { rows: readonly ApiKey[]; onAsk: (asked: Asked) => void }) {
  return (
    <div className="frame">
      <table className="grid">
        <caption className="unseen">Keys</caption>
        <Columns of={['Name', 'Role', 'State', 'Id', 'Made', 'Ends']} actions />
        <tbody>
          {rows.map((key) => (
            <tr key={key.key_id} className={key.state === 'active' ? '' : 'faded'}>
              <td>
                <strong>{key.name}</strong>
              </td>
              <td>{key.role}</td>
              <td>
                <Status state={key.state} />
              </td>
              <td>
                <code>{key.key_id}</code>
              </td>
              <td className="nowrap">
                <Ago at={key.created_at} />
                {key.rotated_at !== null && (
                  <span className="aside">
                    {' '}
                    rotated <Ago at={key.rotated_at} />
                  </span>
                )}
              </td>
              <td className="nowrap">
                {key.expires_at === null ? 'never' : <Time at={key.expires_at} withRelative />}
              </td>
              <td className="row-actions">
                {key.state === 'active' && (
                  <>
                    <Button onClick={() => onAsk({ what: 'rotate', key })}>Rotate</Button>
                    <Button look="danger" onClick={() => onAsk({ what: 'revoke', key })}>
                      Revoke
                    </Button>
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function CreateKey({ onClose, onDone }: { onClose: () => void; onDone: (key: RevealedKey) => void }) {
  const { api } = useShared()
  const action = useAction()
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('viewer')
  const [expires, setExpires] = useState('')
  const submit = () =>
    action.run(async () =>
      onDone(await api.keys.create({ name, role, ...(expires !== '' && { expires_at: expires }) })),
    )
  return (
    <Ask
      title="Create key"
      action={action}
      confirm="Create"
      disabled={name.trim() === ''}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        required
        autoFocus
        hint="Who has it: the audit names its changes by this"
      />
      <SelectField
        label="Role"
        value={role}
        onChange={(value) => setRole(value as Role)}
        options={[
          ['viewer', 'viewer: looks'],
          ['worker', 'worker: leases and closes runs'],
          ['operator', 'operator: changes jobs, runs and dead letters'],
          ['admin', 'admin: also keys and secrets'],
        ]}
      />
      <TextField
        label="Ends at"
        mono
        value={expires}
        onChange={setExpires}
        placeholder="2027-01-01T00:00:00Z"
        hint="With an offset; empty: never"
      />
    </Ask>
  )
}

function ChangeKey({
  what,
  apiKey,
  onClose,
  onDone,
}: {
  what: 'rotate' | 'revoke'
  apiKey: ApiKey
  onClose: () => void
  onDone: (key?: RevealedKey) => void
}) {
  const { api } = useShared()
  const action = useAction()
  const [hours, setHours] = useState('24')
  const submit = () =>
    action.run(
      async () => {
        if (what === 'rotate')
          return onDone(await api.keys.rotate(apiKey.key_id, { overlap_seconds: Number(hours) * 3_600 }))
        await api.keys.revoke(apiKey.key_id)
        onDone()
      },
      what === 'rotate' ? 'Rotated' : 'Revoked',
    )
  return (
    <Ask
      title={`${what === 'rotate' ? 'Rotate' : 'Revoke'} ${apiKey.name}`}
      action={action}
      confirm={what === 'rotate' ? 'Rotate' : 'Revoke'}
      danger={what === 'revoke'}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      {what === 'rotate' ? (
        <TextField
          label="The old secret opens for, hours"
          value={hours}
          onChange={setHours}
          hint="0 where it has leaked"
        />
      ) : (
        <p>It opens nothing from now on. This cannot be taken back.</p>
      )}
    </Ask>
  )
}
