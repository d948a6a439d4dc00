import type { ClusterView } from '@carillon/contract'
import { useState } from 'react'
import { count, duration, plural } from '../lib/format.js'
import { useAction, useQuery, useShared } from '../lib/hooks.js'
import { Columns } from '../ui/columns.js'
import { Ask } from '../ui/dialog.js'
import { TextField } from '../ui/field.js'
import { Button, ErrorNote, Facts, Note, PageHead, Panel, Skeleton } from '../ui/pieces.js'
import { Status } from '../ui/status.js'
import { Ago, Time } from '../ui/time.js'

/** The fleet at one moment: who lives, who owns what under which epoch, and for how long yet. */
export default function Cluster() {
  const { api } = useShared()
  const cluster = useQuery('cluster view', () => api.cluster(), { every: 2_000 })
  if (cluster.loading) return <Skeleton rows={10} />
  if (cluster.data === undefined)
    return cluster.error === null ? null : <ErrorNote error={cluster.error} onRetry={cluster.reload} />
  const view = cluster.data
  return (
    <>
      <PageHead
        title="Cluster"
        below={
          <Facts
            facts={[
              ['Lag', duration(view.lag_ms)],
              [
                'Partitions',
                `${view.partitions.length - view.unowned} held, ${view.unowned} without an owner`,
              ],
              [
                'In the queue',
                `${count(view.queue.total)}: ${count(view.queue.running)} running, ${count(view.queue.ready)} ready, ${count(view.queue.ahead)} ahead, ${count(view.queue.parked)} parked`,
              ],
              ['Oldest ready', duration(view.queue.oldest_ready_ms)],
              [
                'Catching up',
                view.replays.running + view.replays.paused === 0
                  ? 'nothing'
                  : `${plural(view.replays.running, 'job')}, ${plural(view.replays.ticks_left, 'tick')} left`,
              ],
            ]}
          />
        }
      >
        <BrakeButton view={view} onChange={cluster.reload} />
      </PageHead>
      {cluster.error !== null && <ErrorNote error={cluster.error} />}
      {view.brake !== null && (
        <Note kind="warn">
          <strong>The brake is on:</strong> {view.brake.reason}. Windows ×{view.brake.window_factor}, catch-up
          ×{view.brake.catch_up_factor}, until <Time at={view.brake.ends_at} withRelative />.
        </Note>
      )}
      {view.unowned > 0 && (
        <Note kind="bad">
          <strong>{plural(view.unowned, 'partition')} without an owner.</strong> The ticks of their jobs wait
          until a scheduler takes them.
        </Note>
      )}
      <Nodes nodes={view.nodes} />
      <Partitions view={view} />
      {view.workers.alive > 0 && <Workers workers={view.workers} />}
    </>
  )
}

function Nodes({ nodes }: { nodes: ClusterView['nodes'] }) {
  return (
    <Panel
      title="Nodes"
      aside={`${nodes.filter(({ state }) => state === 'alive').length} alive; those that ended in the last ten minutes, too`}
      flush
    >
      <div className="frame">
        <table className="grid">
          <caption className="unseen">Nodes</caption>
          <Columns
            of={[
              'State',
              'Node',
              'Host',
              'Roles',
              { number: 'Partitions' },
              { number: 'Last beat' },
              'Since',
              'Version',
              'Says of itself',
            ]}
          />
          <tbody>
            {nodes.map((node) => (
              <tr key={node.node} className={node.state === 'alive' ? '' : 'faded'}>
                <td>
                  <Status state={node.state} />
                </td>
                <td>
                  <code>{node.node}</code>
                </td>
                <td>
                  {node.host} <span className="aside">pid {node.pid}</span>
                </td>
                <td>{node.roles.join(', ')}</td>
                <td className="number">{node.partitions}</td>
                <td className="number">{node.state === 'alive' ? duration(node.beat_age_ms) : '–'}</td>
                <td className="nowrap">
                  <Ago at={node.started_at} />
                </td>
                <td>{node.code_version}</td>
                <td className="cut aside">{reportWords(node.report)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}

function reportWords(report: Record<string, unknown>): string {
  return Object.entries(report)
    .filter(
      ([, value]) => typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean',
    )
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${String(value as string | number)}`)
    .join(' · ')
}

const hues = 6

/** Each owner has a hue and a letter: neighbours of one owner are seen as one, and the letter says which. */
function Partitions({ view }: { view: ClusterView }) {
  const owners = [...new Set(view.partitions.flatMap(({ owner }) => owner ?? []))].sort()
  const letter = (owner: string) => String.fromCharCode(65 + (owners.indexOf(owner) % 26))
  const lefts = view.partitions.flatMap(({ expires_in_ms: left }) => left ?? [])
  const leases =
    lefts.length === 0 ? '' : `; the first lease ends in ${duration(Math.min(...lefts))} unless it is renewed`
  return (
    <Panel title="Partitions" aside={`the number is the epoch of the ownership${leases}`}>
      <p className="legend">
        {owners.map((owner, index) => (
          <span key={owner} className="legend-item">
            <span className={`swatch owner-${index % hues}`}>{letter(owner)}</span> <code>{owner}</code>
          </span>
        ))}
      </p>
      <ul className="partitions">
        {view.partitions.map(({ partition, owner, epoch, expires_in_ms: left }) => (
          <li
            key={partition}
            className={
              owner === null ? 'partition unowned' : `partition owner-${owners.indexOf(owner) % hues}`
            }
            title={`Partition ${partition}\n${owner ?? 'no owner'}\nepoch ${epoch}${left === null ? '' : `\nlease ends in ${duration(left)}`}`}
          >
            <span className="unseen">
              Partition {partition}: {owner ?? 'no owner'}, epoch{' '}
            </span>
            {owner === null ? '!' : letter(owner)}
            <span className="epoch">{epoch % 1_000}</span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function Workers({ workers }: { workers: ClusterView['workers'] }) {
  return (
    <Panel title="Workers over HTTP" aside={`${workers.alive} alive`} flush>
      <div className="frame">
        <table className="grid">
          <caption className="unseen">Workers over HTTP</caption>
          <Columns of={['Worker', 'Tasks', { number: 'Runs' }, { number: 'Last call' }, 'Since']} />
          <tbody>
            {workers.data.map((worker) => (
              <tr key={worker.worker_id}>
                <td>
                  {worker.name} <code>{worker.worker_id}</code>
                </td>
                <td className="cut">{worker.tasks.join(', ')}</td>
                <td className="number">{worker.runs}</td>
                <td className="number">{duration(worker.beat_age_ms)}</td>
                <td>
                  <Ago at={worker.started_at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}

function BrakeButton({ view, onChange }: { view: ClusterView; onChange: () => void }) {
  const { api, mayWrite } = useShared()
  const action = useAction()
  const [open, setOpen] = useState(false)
  if (!mayWrite) return null
  if (view.brake !== null)
    return (
      <>
        <Button
          disabled={action.busy}
          onClick={() => void action.run(() => api.brake.clear(), 'The brake is off').then(onChange)}
        >
          Take the brake off
        </Button>
        {action.error !== null && <ErrorNote error={action.error} />}
      </>
    )
  return (
    <>
      <Button icon="stop" onClick={() => setOpen(true)}>
        Brake
      </Button>
      {open && <BrakeDialog onClose={() => setOpen(false)} onDone={onChange} />}
    </>
  )
}

function BrakeDialog({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const { api } = useShared()
  const action = useAction()
  const [reason, setReason] = useState('')
  const [window, setWindow] = useState('4')
  const [pace, setPace] = useState('0.25')
  const [minutes, setMinutes] = useState('30')
  const submit = async () => {
    const work = () =>
      api.brake.set({
        reason,
        window_factor: Number(window),
        catch_up_factor: Number(pace),
        for_seconds: Number(minutes) * 60,
      })
    if (!(await action.run(work, 'The brake is on'))) return
    onClose()
    onDone()
  }
  return (
    <Ask
      title="Brake the fleet"
      action={action}
      confirm="Brake"
      danger
      disabled={reason === ''}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <p className="quiet">Wider fire windows and slower catch-up for every tenant. It ends by itself.</p>
      <TextField label="Reason" value={reason} onChange={setReason} required autoFocus />
      <div className="four">
        <TextField label="Windows, times" value={window} onChange={setWindow} />
        <TextField label="Catch-up, part" value={pace} onChange={setPace} hint="0 stops it" />
        <TextField label="Minutes" value={minutes} onChange={setMinutes} />
      </div>
    </Ask>
  )
}
