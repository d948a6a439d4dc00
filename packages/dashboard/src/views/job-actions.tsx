import type { BackfillInput, Job, PauseInput } from '@carillon/contract'
import { useState } from 'react'
import { count, duration, wall } from '../lib/format.js'
import { now } from '../lib/clock.js'
import { useAction, useQuery, useRested, useShared } from '../lib/hooks.js'
import { to } from '../lib/location.js'
import { navigate } from '../lib/router.js'
import { Ask } from '../ui/dialog.js'
import { CheckField, TextField } from '../ui/field.js'
import { Button, ErrorNote, LinkButton, Note } from '../ui/pieces.js'

type Open = 'pause' | 'backfill' | 'cancel' | 'delete' | null

export function JobActions({ job, onChange }: { job: Job; onChange: () => void }) {
  const { api, mayWrite } = useShared()
  const action = useAction()
  const [open, setOpen] = useState<Open>(null)
  if (!mayWrite) return null
  const id = job.job_id
  const live = job.state === 'active' || job.state === 'paused'
  const close = () => setOpen(null)
  const trigger = async () => {
    let runId = ''
    const work = async () => {
      runId = (await api.jobs.trigger(id)).run_id
    }
    if (await action.run(work, 'Triggered')) navigate(to.run(runId))
  }
  const resume = async () => {
    if (await action.run(() => api.jobs.resume(id), 'Resumed')) onChange()
  }
  return (
    <>
      {live && (
        <>
          <Button icon="play" look="main" disabled={action.busy} onClick={() => void trigger()}>
            Trigger
          </Button>
          {job.state === 'paused' ? (
            <Button icon="play" disabled={action.busy} onClick={() => void resume()}>
              Resume
            </Button>
          ) : (
            <Button icon="pause" onClick={() => setOpen('pause')}>
              Pause
            </Button>
          )}
          <LinkButton href={`${to.job(id)}/edit`}>Edit</LinkButton>
          <Button onClick={() => setOpen('backfill')}>Backfill</Button>
          <Button onClick={() => setOpen('cancel')}>Cancel</Button>
        </>
      )}
      <Button look="danger" onClick={() => setOpen('delete')}>
        Delete
      </Button>
      {action.error !== null && <ErrorNote error={action.error} />}
      {open === 'pause' && <PauseDialog job={job} onClose={close} onDone={onChange} />}
      {open === 'backfill' && <BackfillDialog job={job} onClose={close} />}
      {open === 'cancel' && <EndDialog job={job} what="cancel" onClose={close} onDone={onChange} />}
      {open === 'delete' && (
        <EndDialog job={job} what="delete" onClose={close} onDone={() => navigate('/jobs')} />
      )}
    </>
  )
}

interface DialogProps {
  job: Job
  onClose: () => void
}

function PauseDialog({ job, onClose, onDone }: DialogProps & { onDone: () => void }) {
  const { api } = useShared()
  const action = useAction()
  const [reason, setReason] = useState('')
  const [until, setUntil] = useState('')
  const soon = (hours: number) => {
    const { date, time } = wall(now() + hours * 3_600_000, job.timezone)
    setUntil(`${date}T${time.slice(0, 5)}`)
  }
  const submit = async () => {
    const pause: PauseInput = { ...(reason !== '' && { reason }), ...(until !== '' && { until }) }
    if (!(await action.run(() => api.jobs.pause(job.job_id, pause), 'Paused'))) return
    onClose()
    onDone()
  }
  return (
    <Ask
      title={`Pause ${job.name}`}
      action={action}
      confirm="Pause"
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <p className="quiet">
        Nothing of it starts until it is resumed. What is missed meanwhile follows its missed_window:{' '}
        {job.missed_window}.
      </p>
      <TextField
        label="Reason"
        value={reason}
        onChange={setReason}
        autoFocus
        hint="Whoever finds it paused reads this"
      />
      <TextField
        label="Until"
        mono
        value={until}
        onChange={setUntil}
        placeholder="2026-12-01T08:00"
        hint={`When it resumes by itself; without an offset: ${job.timezone}`}
      />
      <div className="quick">
        {[1, 4, 12, 24].map((hours) => (
          <Button key={hours} onClick={() => soon(hours)}>
            {hours} h
          </Button>
        ))}
      </div>
    </Ask>
  )
}

function EndDialog({
  job,
  what,
  onClose,
  onDone,
}: DialogProps & { what: 'cancel' | 'delete'; onDone: () => void }) {
  const { api } = useShared()
  const action = useAction()
  const [reason, setReason] = useState('')
  const submit = async () => {
    const work = () =>
      what === 'delete'
        ? api.jobs.delete(job.job_id)
        : api.jobs.cancel(job.job_id, reason === '' ? {} : { reason })
    if (!(await action.run(work, what === 'delete' ? 'Deleted' : 'Cancelled'))) return
    onClose()
    onDone()
  }
  return (
    <Ask
      title={`${what === 'delete' ? 'Delete' : 'Cancel'} ${job.name}`}
      action={action}
      confirm={what === 'delete' ? 'Delete' : 'Cancel the job'}
      danger
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      {what === 'delete' ? (
        <p>
          Runs that wait are taken out of the queue, and nothing of it can be re-driven. Its ledger stays.
        </p>
      ) : (
        <>
          <p>
            No further tick comes, for good. What is in flight goes on; definition and history stay; its name
            is free again.
          </p>
          <TextField label="Reason" value={reason} onChange={setReason} />
        </>
      )}
    </Ask>
  )
}

function BackfillDialog({ job, onClose }: DialogProps) {
  const { api } = useShared()
  const action = useAction()
  const day = wall(now() - 86_400_000, job.timezone)
  const end = wall(now(), job.timezone)
  const [from, setFrom] = useState(`${day.date}T${day.time}`)
  const [until, setUntil] = useState(`${end.date}T${end.time}`)
  const [pace, setPace] = useState('60')
  const [missing, setMissing] = useState(true)
  const [reason, setReason] = useState('')
  const input: BackfillInput = {
    from,
    to: until,
    per_minute: Number(pace) || 60,
    only_missing: missing,
    ...(reason !== '' && { reason }),
  }
  const asked = JSON.stringify(input)
  const rested = useRested(asked, 300)
  const plan = useQuery(`backfill ${job.job_id} ${rested}`, () =>
    api.jobs.countBackfill(job.job_id, JSON.parse(rested) as BackfillInput),
  )
  const submit = async () => {
    if (!(await action.run(() => api.jobs.backfill(job.job_id, input), 'The backfill has begun'))) return
    onClose()
    navigate(to.job(job.job_id, 'backfills'))
  }
  const ticks = plan.data?.ticks ?? 0
  return (
    <Ask
      title={`Backfill ${job.name}`}
      action={action}
      confirm={`Run ${count(ticks)} ${ticks === 1 ? 'tick' : 'ticks'}`}
      // What was counted is what is begun.
      disabled={ticks === 0 || asked !== rested}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <div className="pair">
        <TextField
          label="From"
          mono
          value={from}
          onChange={setFrom}
          hint={`Without an offset: ${job.timezone}`}
        />
        <TextField label="To" mono value={until} onChange={setUntil} hint="Not run any more; not after now" />
      </div>
      <div className="pair">
        <TextField label="Runs a minute" value={pace} onChange={setPace} hint="At most; one after another" />
        <TextField label="Reason" value={reason} onChange={setReason} />
      </div>
      <CheckField
        label="Only ticks that did not succeed and are not on their way"
        value={missing}
        onChange={setMissing}
      />
      {plan.error !== null && <ErrorNote error={plan.error} />}
      {plan.data !== undefined && (
        <Note kind="info">
          <strong>{count(ticks)}</strong> {ticks === 1 ? 'tick' : 'ticks'} would run, about{' '}
          {duration(plan.data.estimated_seconds * 1_000)} at this pace; {count(plan.data.excluded_done)} left
          out as done.
        </Note>
      )}
    </Ask>
  )
}
