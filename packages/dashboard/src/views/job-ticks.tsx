import type { Job, Tick } from '@carillon/contract'
import { useState } from 'react'
import { utc, viewerZone, wall } from '../lib/format.js'
import { useAction, useQuery, useShared } from '../lib/hooks.js'
import { Columns } from '../ui/columns.js'
import { Ask } from '../ui/dialog.js'
import { TextField } from '../ui/field.js'
import { Icon } from '../ui/icon.js'
import { Button, Empty, ErrorNote, Panel, Skeleton } from '../ui/pieces.js'
import { Status } from '../ui/status.js'
import { Ago } from '../ui/time.js'

type Change = { tick: Tick; what: 'skip' | 'move' }

/** The ticks ahead as they will be, on three clocks, with what the clocks do to them. */
export function NextTicks({ job }: { job: Job }) {
  const { api, mayWrite } = useShared()
  const ticks = useQuery(
    `ticks ${job.job_id} ${job.version}`,
    () => api.jobs.ticks(job.job_id, { count: 20 }),
    { every: 5_000 },
  )
  const [change, setChange] = useState<Change | null>(null)
  const action = useAction()
  const restore = async (tick: Tick) => {
    if (await action.run(() => api.jobs.restoreTick(job.job_id, tick.due), 'Taken back')) ticks.reload()
  }
  if (ticks.loading) return <Skeleton rows={8} />
  if (ticks.data?.length === 0) return <Empty icon="clock" title="No tick is ahead." />
  return (
    <Panel title="Next ticks" aside={`${job.timezone}, you (${viewerZone()}), UTC`} flush>
      {ticks.error !== null && <ErrorNote error={ticks.error} />}
      {action.error !== null && <ErrorNote error={action.error} />}
      <div className="frame">
        <table className="grid">
          <caption className="unseen">Ticks ahead</caption>
          <Columns
            of={['In', `Job: ${job.timezone}`, `You: ${viewerZone()}`, 'UTC', 'State', 'Note']}
            actions={mayWrite}
          />
          <tbody>
            {ticks.data?.map((tick) => (
              <TickRow
                key={tick.due}
                tick={tick}
                zone={job.timezone}
                busy={action.busy}
                onChange={(what) => setChange({ tick, what })}
                onRestore={() => void restore(tick)}
              />
            ))}
          </tbody>
        </table>
      </div>
      {change !== null && (
        <ChangeTick job={job} {...change} onClose={() => setChange(null)} onDone={ticks.reload} />
      )}
    </Panel>
  )
}

interface RowProps {
  tick: Tick
  zone: string
  busy: boolean
  onChange: (what: Change['what']) => void
  onRestore: () => void
}

function TickRow({ tick, zone, busy, onChange, onRestore }: RowProps) {
  const { mayWrite } = useShared()
  return (
    <tr className={tick.state === 'skipped' ? 'faded' : ''}>
      <td className="nowrap">
        <Ago at={tick.due} />
      </td>
      <td className="mono nowrap">{onClock(tick.due, zone)}</td>
      <td className="mono nowrap">{onClock(tick.due, viewerZone())}</td>
      <td className="mono nowrap">{utc(Date.parse(tick.due))}</td>
      <td>
        <Status state={tick.state} />
        {tick.start_at !== tick.due && <span className="aside"> starts {onClock(tick.start_at, zone)}</span>}
      </td>
      <td>
        {tick.note !== undefined && (
          <span className="status warn">
            <Icon name="warn" /> {tick.note}
          </span>
        )}
      </td>
      {mayWrite && (
        <td className="row-actions">
          {tick.state === 'planned' && (
            <>
              <Button onClick={() => onChange('skip')}>Skip</Button>
              <Button onClick={() => onChange('move')}>Move</Button>
            </>
          )}
          {(tick.state === 'skipped' || tick.state === 'moved') && (
            <Button disabled={busy} onClick={onRestore}>
              Take back
            </Button>
          )}
        </td>
      )}
    </tr>
  )
}

function onClock(at: string, zone: string): string {
  const { weekday, date, time, offset } = wall(Date.parse(at), zone)
  return `${weekday} ${date} ${time} ${offset}`
}

function ChangeTick({
  job,
  tick,
  what,
  onClose,
  onDone,
}: Change & { job: Job; onClose: () => void; onDone: () => void }) {
  const { api } = useShared()
  const action = useAction()
  const [to, setTo] = useState(() => {
    const { date, time } = wall(Date.parse(tick.due), job.timezone)
    return `${date}T${time}`
  })
  const [reason, setReason] = useState('')
  const options = reason === '' ? {} : { reason }
  const submit = async () => {
    const work = () =>
      what === 'skip'
        ? api.jobs.skipTick(job.job_id, tick.due, options)
        : api.jobs.moveTick(job.job_id, tick.due, to, options)
    if (!(await action.run(work, what === 'skip' ? 'The tick is left out' : 'The tick is moved'))) return
    onClose()
    onDone()
  }
  return (
    <Ask
      title={what === 'skip' ? 'Leave this tick out' : 'Move this tick'}
      action={action}
      confirm={what === 'skip' ? 'Leave it out' : 'Move it'}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <p>
        {job.name}: <span className="mono">{onClock(tick.due, job.timezone)}</span>
      </p>
      {what === 'move' && (
        <TextField
          label="Starts at"
          mono
          value={to}
          onChange={setTo}
          hint={`Without an offset: ${job.timezone}. Between the ticks beside it`}
        />
      )}
      <TextField label="Reason" value={reason} onChange={setReason} hint="For people who look at the job" />
    </Ask>
  )
}
