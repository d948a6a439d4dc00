import type { AlertChannel, AlertChannelType, AlertSeverity } from '@carillon/contract'
import { useState } from 'react'
import { channelInput, type ChannelForm, channelForm, channelPatch } from '../lib/channel-form.js'
import { plural } from '../lib/format.js'
import { useAction, useQuery, useShared } from '../lib/hooks.js'
import { type Problems, problemsOf } from '../lib/problems.js'
import { Confirm } from '../ui/confirm.js'
import { Ask } from '../ui/dialog.js'
import { SelectField, TextField } from '../ui/field.js'
import { Button, ErrorNote, Panel, Skeleton } from '../ui/pieces.js'
import { Status } from '../ui/status.js'
import { Ago } from '../ui/time.js'

type Asked = { what: 'add' } | { what: 'change' | 'delete'; channel: AlertChannel } | null

/** Where alerts are told. */
export function Channels() {
  const { api, mayAdmin } = useShared()
  const [asked, setAsked] = useState<Asked>(null)
  const channels = useQuery('alert channels', () => api.alertChannels.list(), { every: 10_000 })
  const rows = channels.data?.data ?? []
  const close = () => setAsked(null)
  return (
    <Panel
      title="Channels"
      aside="where alerts are told"
      actions={mayAdmin && <Button onClick={() => setAsked({ what: 'add' })}>Add channel</Button>}
    >
      {channels.loading && <Skeleton rows={1} />}
      {channels.error !== null && <ErrorNote error={channels.error} onRetry={channels.reload} />}
      {channels.data !== undefined && rows.length === 0 && (
        <p className="quiet">None: alerts are seen here, and nobody is told.</p>
      )}
      {rows.length > 0 && <ChannelList rows={rows} onAsk={setAsked} onChange={channels.reload} />}
      {asked !== null && asked.what !== 'delete' && (
        <ChannelDialog
          {...(asked.what === 'change' && { channel: asked.channel })}
          onClose={close}
          onDone={channels.reload}
        />
      )}
      {asked?.what === 'delete' && (
        <Confirm
          title={`Delete the channel ${asked.channel.name}`}
          confirm="Delete"
          done="Deleted"
          work={() => api.alertChannels.delete(asked.channel.channel_id)}
          onClose={close}
          onDone={channels.reload}
        >
          <p>
            Nothing is told there any more
            {asked.channel.waiting > 0 &&
              `; ${plural(asked.channel.waiting, 'notification')} that wait are dropped`}
            .
          </p>
        </Confirm>
      )}
    </Panel>
  )
}

interface ListProps {
  rows: readonly AlertChannel[]
  onAsk: (asked: Asked) => void
  onChange: () => void
}

function ChannelList({ rows, onAsk, onChange }: ListProps) {
  const { api, mayAdmin, toast } = useShared()
  const action = useAction()
  const test = async ({ channel_id: id, name }: AlertChannel) => {
    const work = async () => {
      const { ok, error } = await api.alertChannels.test(id)
      if (!ok) throw new Error(`${name} did not take it: ${error ?? 'no reason was given'}`)
      toast(`${name} took a test`)
    }
    if (await action.run(work)) onChange()
  }
  return (
    <>
      {action.error !== null && <ErrorNote error={action.error} />}
      <ul className="plain">
        {rows.map((one) => (
          <li key={one.channel_id} className="line">
            <strong>{one.name}</strong> {one.type}{' '}
            <span className="aside">
              {one.url ?? one.to.join(', ')} · from {one.min_severity} on
              {one.waiting > 0 && ` · ${plural(one.waiting, 'notification')} wait`}
            </span>
            {one.last_delivery !== null && (
              <>
                <Status
                  state={one.last_delivery.ok ? 'done' : 'failed'}
                  words={one.last_delivery.ok ? 'delivered' : 'failed'}
                />
                <span className="aside">
                  <Ago at={one.last_delivery.at} /> {one.last_delivery.error}
                </span>
              </>
            )}
            <span className="spring" />
            {mayAdmin && (
              <span className="row-actions">
                <Button disabled={action.busy} onClick={() => void test(one)}>
                  Test
                </Button>
                <Button onClick={() => onAsk({ what: 'change', channel: one })}>Change</Button>
                <Button look="danger" onClick={() => onAsk({ what: 'delete', channel: one })}>
                  Delete
                </Button>
              </span>
            )}
          </li>
        ))}
      </ul>
    </>
  )
}

function ChannelDialog({
  channel,
  onClose,
  onDone,
}: {
  channel?: AlertChannel
  onClose: () => void
  onDone: () => void
}) {
  const { api } = useShared()
  const action = useAction()
  const [form, setForm] = useState<ChannelForm>(() => channelForm(channel))
  const set = (changes: Partial<ChannelForm>) => {
    action.clear()
    setForm({ ...form, ...changes })
  }
  const submit = async () => {
    const work = () =>
      channel === undefined
        ? api.alertChannels.create(channelInput(form))
        : api.alertChannels.edit(channel.channel_id, channelPatch(form))
    if (!(await action.run(work, channel === undefined ? 'Added. Send a test to be sure' : 'Saved'))) return
    onClose()
    onDone()
  }
  const problems = problemsOf(action.error)
  const isNew = channel === undefined
  return (
    <Ask
      title={isNew ? 'Add channel' : `Channel ${channel.name}`}
      action={action}
      confirm={isNew ? 'Add' : 'Save'}
      disabled={form.name.trim() === ''}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <TextField
        label="Name"
        value={form.name}
        onChange={(name) => set({ name })}
        required
        autoFocus
        problem={problems['name']}
      />
      <div className="pair">
        {isNew && (
          <SelectField
            label="Type"
            value={form.type}
            onChange={(type) => set({ type: type as AlertChannelType })}
            options={[
              ['webhook', 'webhook, signed'],
              ['alertmanager', 'Alertmanager'],
              ['slack', 'Slack, or what takes its JSON'],
              ['email', 'email'],
            ]}
            problem={problems['type']}
          />
        )}
        <SelectField
          label="From this severity on"
          value={form.min_severity}
          onChange={(severity) => set({ min_severity: severity as AlertSeverity })}
          options={['info', 'warning', 'critical']}
          problem={problems['min_severity']}
        />
      </div>
      {form.type === 'email' ? (
        <MailFields form={form} set={set} problems={problems} channel={channel} />
      ) : (
        <PostFields form={form} set={set} problems={problems} channel={channel} />
      )}
    </Ask>
  )
}

interface FieldsProps {
  form: ChannelForm
  set: (changes: Partial<ChannelForm>) => void
  problems: Problems
  channel: AlertChannel | undefined
}

function PostFields({ form, set, problems, channel }: FieldsProps) {
  const { header_names: names = [] } = channel ?? {}
  return (
    <>
      <TextField
        label="URL"
        mono
        value={form.url}
        onChange={(url) => set({ url })}
        placeholder={
          form.type === 'alertmanager' ? 'http://alertmanager:9093' : 'https://hooks.example.com/…'
        }
        problem={problems['url']}
        hint={channel === undefined ? 'Never shown again whole' : `Empty: it stays ${channel.url ?? ''}`}
      />
      <TextField
        label="Headers"
        mono
        rows={2}
        value={form.headers}
        onChange={(headers) => set({ headers })}
        problem={problems['headers']}
        hint={names.length === 0 ? 'One a line: Name: value' : `Empty: ${names.join(', ')} stay as they are`}
      />
    </>
  )
}

function MailFields({ form, set, problems, channel }: FieldsProps) {
  return (
    <>
      <div className="pair">
        <TextField
          label="SMTP host"
          mono
          value={form.smtp_host}
          onChange={(smtp_host) => set({ smtp_host })}
          problem={problems['smtp_host']}
        />
        <TextField
          label="Port"
          value={form.smtp_port}
          onChange={(smtp_port) => set({ smtp_port })}
          problem={problems['smtp_port']}
        />
      </div>
      <div className="pair">
        <TextField
          label="User"
          value={form.smtp_user}
          onChange={(smtp_user) => set({ smtp_user })}
          problem={problems['smtp_user']}
        />
        <TextField
          label="Password"
          type="password"
          value={form.smtp_password}
          onChange={(smtp_password) => set({ smtp_password })}
          problem={problems['smtp_password']}
          hint={channel?.smtp_password_set === true ? 'Empty: it stays' : 'Never shown again'}
        />
      </div>
      <SelectField
        label="Encryption"
        value={form.smtp_tls}
        onChange={(smtp_tls) => set({ smtp_tls })}
        options={[
          ['starttls', 'STARTTLS'],
          ['tls', 'TLS from the first byte'],
          ['none', 'none'],
        ]}
        problem={problems['smtp_tls']}
      />
      <div className="pair">
        <TextField
          label="From"
          value={form.from}
          onChange={(from) => set({ from })}
          problem={problems['from']}
        />
        <TextField
          label="To"
          value={form.to}
          onChange={(to) => set({ to })}
          problem={problems['to']}
          hint="Separated by commas"
        />
      </div>
    </>
  )
}
