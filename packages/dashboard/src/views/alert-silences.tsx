import type { AlertSilence, AlertSilenceInput } from '@carillon/contract'
import { useState } from 'react'
import { now } from '../lib/clock.js'
import { useAction, useQuery, useShared } from '../lib/hooks.js'
import { to } from '../lib/location.js'
import { problemsOf } from '../lib/problems.js'
import { Link } from '../lib/router.js'
import { Ask } from '../ui/dialog.js'
import { SelectField, TextField } from '../ui/field.js'
import { Button, ErrorNote, Panel, Skeleton } from '../ui/pieces.js'
import { Time } from '../ui/time.js'

/** What is raised and not told, until when and why. */
export function Silences({ onChange }: { onChange: () => void }) {
  const { api, mayWrite } = useShared()
  const [asked, setAsked] = useState(false)
  const silences = useQuery('silences', () => api.alertSilences.list(), { every: 10_000 })
  const rows = silences.data?.data ?? []
  const changed = () => {
    silences.reload()
    onChange()
  }
  return (
    <Panel
      title="Silences"
      aside="raised, and told to nobody"
      actions={mayWrite && <Button onClick={() => setAsked(true)}>Add silence</Button>}
    >
      {silences.loading && <Skeleton rows={1} />}
      {silences.error !== null && <ErrorNote error={silences.error} onRetry={silences.reload} />}
      {silences.data !== undefined && rows.length === 0 && (
        <p className="quiet">None: every alert is told.</p>
      )}
      {rows.length > 0 && <SilenceList rows={rows} onChange={changed} />}
      {asked && <SilenceDialog onClose={() => setAsked(false)} onDone={changed} />}
    </Panel>
  )
}

function SilenceList({ rows, onChange }: { rows: readonly AlertSilence[]; onChange: () => void }) {
  const { api, mayWrite } = useShared()
  const action = useAction()
  const end = async (id: string) => {
    if (await action.run(() => api.alertSilences.delete(id), 'Ended')) onChange()
  }
  return (
    <>
      {action.error !== null && <ErrorNote error={action.error} />}
      <ul className="plain">
        {rows.map((one) => (
          <li key={one.silence_id} className="line">
            <code>{one.kind ?? 'every kind'}</code>
            {one.job_id !== null && <Link href={to.job(one.job_id)}>{one.job_name ?? one.job_id}</Link>}
            {one.tag !== null && <span className="tag">{one.tag}</span>}
            <span>{one.reason}</span>
            <span className="aside">
              until <Time at={one.until} withRelative />, by {one.created_by}
            </span>
            <span className="spring" />
            {mayWrite && (
              <Button disabled={action.busy} onClick={() => void end(one.silence_id)}>
                End
              </Button>
            )}
          </li>
        ))}
      </ul>
    </>
  )
}

interface SilenceDialogProps {
  /** Of one alert: what it is about stands fast. */
  kind?: string
  jobId?: string
  about?: string
  onClose: () => void
  onDone: () => void
}

export function SilenceDialog({ kind, jobId, about, onClose, onDone }: SilenceDialogProps) {
  const { api } = useShared()
  const action = useAction()
  const [chosen, setChosen] = useState('')
  const [job, setJob] = useState('')
  const [tag, setTag] = useState('')
  const [hours, setHours] = useState('4')
  const [reason, setReason] = useState('')
  const ofOne = kind !== undefined
  const wrong = !(Number(hours) > 0)
  const until = new Date(now() + (wrong ? 1 : Number(hours)) * 3_600_000).toISOString()
  const what = kind ?? chosen
  const of = jobId ?? job.trim()
  const submit = async () => {
    const silence: AlertSilenceInput = {
      ...(what !== '' && { kind: what as NonNullable<AlertSilenceInput['kind']> }),
      ...(of !== '' && { job_id: of }),
      ...(tag.trim() !== '' && { tag: tag.trim() }),
      until,
      reason: reason.trim(),
    }
    if (!(await action.run(() => api.alertSilences.create(silence), 'Silenced'))) return
    onClose()
    onDone()
  }
  const problems = problemsOf(action.error)
  return (
    <Ask
      title="Silence"
      action={action}
      confirm="Silence"
      disabled={reason.trim() === '' || wrong}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      {ofOne ? (
        <p>
          <code>{kind}</code> {about}, until <Time at={until} />
        </p>
      ) : (
        <>
          <KindField value={chosen} onChange={setChosen} every problem={problems['kind']} />
          <div className="pair">
            <TextField
              label="Only of the job"
              mono
              value={job}
              onChange={setJob}
              placeholder="job_…"
              problem={problems['job_id']}
            />
            <TextField
              label="Only of jobs with the tag"
              value={tag}
              onChange={setTag}
              problem={problems['tag']}
            />
          </div>
        </>
      )}
      <TextField
        label="Hours"
        value={hours}
        onChange={setHours}
        problem={wrong ? 'More than 0.' : problems['until']}
      />
      <TextField
        label="Reason"
        value={reason}
        onChange={setReason}
        autoFocus
        problem={problems['reason']}
        hint="Whoever misses the alert reads this"
      />
    </Ask>
  )
}

interface KindFieldProps {
  value: string
  onChange: (kind: string) => void
  /** '' stands for every kind. */
  every?: boolean
  problem?: string | undefined
}

/** The kinds of alerts that the server has: its rules name each of them. */
export function KindField({ value, onChange, every = false, problem }: KindFieldProps) {
  const { api } = useShared()
  const rules = useQuery('alert rules', () => api.alertRules.list())
  const kinds = [...new Set(rules.data?.data.map(({ kind }) => kind) ?? [])].sort()
  const first = every ? ([['', 'every kind']] as const) : value === '' ? ([['', 'choose one']] as const) : []
  return (
    <SelectField
      label="Kind"
      value={value}
      onChange={onChange}
      options={[...first, ...kinds]}
      problem={problem ?? rules.error?.message}
    />
  )
}
