import type { DeadLetter, DeadLetterGroup, Redrive } from '@carillon/contract'
import { useCallback, useState } from 'react'
import { brief, count, plural } from '../lib/format.js'
import { useAction, useQuery, useShared } from '../lib/hooks.js'
import { to } from '../lib/location.js'
import { Link, navigate, setParams, useParam } from '../lib/router.js'
import { useRowKeys } from '../lib/rows.js'
import { Columns } from '../ui/columns.js'
import { Confirm } from '../ui/confirm.js'
import { Ask } from '../ui/dialog.js'
import { TextField } from '../ui/field.js'
import { Button, Empty, ErrorNote, PageHead, Panel, Progress, Skeleton } from '../ui/pieces.js'
import { Status } from '../ui/status.js'
import { Ago, Time } from '../ui/time.js'
import { Pager } from './jobs.js'
import { RedriveDialog } from './redrive.js'

/** Runs that used up their attempts: first by what went wrong, then one by one. */
export default function DeadLetters() {
  const { api } = useShared()
  const [fingerprint] = useParam('fingerprint')
  const groups = useQuery('letter groups', () => api.deadLetters.groups(), { every: 4_000 })
  const chosen = groups.data?.find((group) => group.fingerprint === fingerprint)
  return (
    <>
      <PageHead
        title="Dead letters"
        below={
          <p className="quiet">Runs without attempts left, grouped by what their errors have in common.</p>
        }
      />
      {groups.error !== null && <ErrorNote error={groups.error} onRetry={groups.reload} />}
      <Redrives />
      {groups.loading && <Skeleton rows={6} />}
      {groups.data?.length === 0 && (
        <Empty icon="check" title="No dead letters.">
          <p className="quiet">A run that uses up its attempts comes here, and waits for somebody.</p>
        </Empty>
      )}
      {(groups.data?.length ?? 0) > 0 && (
        <Groups groups={groups.data ?? []} chosen={fingerprint} onChange={groups.reload} />
      )}
      {fingerprint !== '' && <Letters fingerprint={fingerprint} group={chosen} onChange={groups.reload} />}
    </>
  )
}

function Groups({
  groups,
  chosen,
  onChange,
}: {
  groups: readonly DeadLetterGroup[]
  chosen: string
  onChange: () => void
}) {
  const { mayWrite } = useShared()
  const [ask, setAsk] = useState<{ group: DeadLetterGroup; what: 'redrive' | 'discard' } | null>(null)
  const open = useCallback((id: string) => setParams({ fingerprint: id, cursor: null }), [])
  const keys = useRowKeys(
    groups.map(({ fingerprint }) => fingerprint),
    open,
  )
  return (
    <ul className="groups">
      {groups.map((group, index) => (
        <li
          key={group.fingerprint}
          className={`group${group.fingerprint === chosen ? ' picked' : ''}`}
          data-at={index === keys.at}
        >
          <span className="group-count">{count(group.count)}</span>
          <div className="group-words">
            <Link className="name" href={to.letters(group.fingerprint)}>
              {group.example.error ?? group.pattern}
            </Link>
            <p className="aside">
              <code>{group.reason}</code> · {plural(group.jobs, 'job')} · first{' '}
              <Ago at={group.first_dead_at} /> · last <Ago at={group.last_dead_at} />
            </p>
          </div>
          {mayWrite && (
            <div className="row-actions">
              <Button icon="retry" look="main" onClick={() => setAsk({ group, what: 'redrive' })}>
                Re-drive
              </Button>
              <Button look="danger" onClick={() => setAsk({ group, what: 'discard' })}>
                Discard
              </Button>
            </div>
          )}
        </li>
      ))}
      {ask?.what === 'redrive' && (
        <RedriveDialog group={ask.group} onClose={() => setAsk(null)} onDone={onChange} />
      )}
      {ask?.what === 'discard' && (
        <Discard group={ask.group} onClose={() => setAsk(null)} onDone={onChange} />
      )}
    </ul>
  )
}

function Discard({
  group,
  onClose,
  onDone,
}: {
  group: DeadLetterGroup
  onClose: () => void
  onDone: () => void
}) {
  const { api } = useShared()
  return (
    <Confirm
      title="Discard dead letters"
      confirm={`Discard ${plural(group.count, 'run')}`}
      done="Discarded"
      work={() => api.deadLetters.discardAll({ fingerprint: group.fingerprint })}
      onClose={onClose}
      onDone={onDone}
    >
      <p>They cannot be re-driven any more. The ledger keeps what became of them.</p>
      <pre className="error-text">{group.pattern}</pre>
    </Confirm>
  )
}

function Redrives() {
  const { api, mayWrite } = useShared()
  const action = useAction()
  const redrives = useQuery('redrives', () => api.redrives.list(), { every: 1_500 })
  const shown = (redrives.data ?? []).slice(0, 4)
  if (shown.length === 0) return null
  const goesOn = ({ state }: Redrive) => state === 'canary' || state === 'watching' || state === 'running'
  const words: Partial<Record<Redrive['state'], string>> = {
    canary: 'canary goes first',
    watching: 'watching the canary',
    running: 'the rest follows',
    done: 'all are back in the queue',
  }
  return (
    <Panel title="Re-drives" flush>
      {action.error !== null && <ErrorNote error={action.error} />}
      <ul className="redrives">
        {shown.map((one) => (
          <li key={one.redrive}>
            <Status state={one.state} words={words[one.state] ?? one.state} />
            {one.reason !== null && <span className="status bad">{one.reason.replaceAll('_', ' ')}</span>}
            <span className="with-progress">
              <Progress done={one.moved} total={one.total} label={`Re-drive ${one.redrive}`} />
              {count(one.moved)} of {count(one.total)}
            </span>
            <span className="aside">
              {one.per_second} a second{one.canary > 0 && `, canary ${one.canary}`} ·{' '}
              <Ago at={one.created_at} />
            </span>
            {one.canaries.slice(0, 3).map((run) => (
              <Link key={run} href={to.run(run)} className="aside">
                canary
              </Link>
            ))}
            <span className="spring" />
            {mayWrite && goesOn(one) && (
              <Button
                look="danger"
                disabled={action.busy}
                onClick={() =>
                  void action.run(
                    () => api.redrives.cancel(one.redrive),
                    'Stopped. What is back in the queue stays there',
                  )
                }
              >
                Stop
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function Letters({
  fingerprint,
  group,
  onChange,
}: {
  fingerprint: string
  group: DeadLetterGroup | undefined
  onChange: () => void
}) {
  const { api } = useShared()
  const [cursor] = useParam('cursor')
  const letters = useQuery(
    `letters ${fingerprint} ${cursor}`,
    () => api.deadLetters.list({ fingerprint, limit: 30, ...(cursor !== '' && { cursor }) }),
    { every: 5_000 },
  )
  const rows = letters.data?.data ?? []
  return (
    <Panel
      title={group === undefined ? 'Dead letters of this group' : plural(group.count, 'dead letter')}
      aside={<code>{fingerprint}</code>}
      flush
      actions={
        <Button
          look="bare"
          icon="cross"
          aria-label="Close the group"
          onClick={() => setParams({ fingerprint: null, cursor: null })}
        />
      }
    >
      {group !== undefined && <pre className="error-text pad">{group.pattern}</pre>}
      {letters.error !== null && <ErrorNote error={letters.error} />}
      {letters.loading && <Skeleton rows={4} />}
      {letters.data !== undefined && rows.length === 0 && <p className="quiet pad">None is left.</p>}
      {rows.length > 0 && <LetterTable rows={rows} onChange={() => (letters.reload(), onChange())} />}
      <Pager next={letters.data?.next_cursor ?? null} shown={rows.length} />
    </Panel>
  )
}

function LetterTable({ rows, onChange }: { rows: readonly DeadLetter[]; onChange: () => void }) {
  const { api, mayWrite } = useShared()
  const [letter] = useParam('letter')
  const action = useAction()
  const act = async (work: () => Promise<unknown>, done: string) => {
    if (await action.run(work, done)) onChange()
  }
  return (
    <div className="frame">
      {action.error !== null && <ErrorNote error={action.error} />}
      <table className="grid">
        <caption className="unseen">Dead letters</caption>
        <Columns of={['Job', 'Tick', 'Died', { number: 'Attempts' }, 'Error']} actions={mayWrite} />
        <tbody>
          {rows.map((row) => (
            <tr key={row.run_id}>
              <td className="cut">
                <Link className="name" href={to.run(row.run_id)}>
                  {row.job}
                </Link>
              </td>
              <td className="nowrap">
                <Time at={row.scheduled_at} />
              </td>
              <td className="nowrap">
                <Ago at={row.dead_at} />
              </td>
              <td className="number">
                {row.attempts}
                {row.round > 1 && <span className="aside"> round {row.round}</span>}
              </td>
              <td className="cut" title={row.error ?? ''}>
                {row.error === null ? '' : brief(row.error)}
              </td>
              {mayWrite && (
                <td className="row-actions">
                  <Button
                    disabled={action.busy}
                    onClick={() => void act(() => api.deadLetters.redrive(row.run_id), 'Back in the queue')}
                  >
                    Re-drive
                  </Button>
                  <Button onClick={() => navigate(`${to.letters(row.fingerprint)}&letter=${row.run_id}`)}>
                    Edit
                  </Button>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {letter !== '' && <EditLetter key={letter} id={letter} onDone={onChange} />}
    </div>
  )
}

/** A payload for this run alone, where the one it died of is wrong. */
function EditLetter({ id, onDone }: { id: string; onDone: () => void }) {
  const { api, mayWrite } = useShared()
  const letter = useQuery(`letter ${id}`, () => api.deadLetters.get(id))
  const action = useAction()
  const [text, setText] = useState<string | null>(null)
  const close = () => setParams({ letter: null })
  if (!mayWrite) return null
  const { data } = letter
  const shown = text ?? (data === undefined ? '' : JSON.stringify(data.payload, null, 2))
  const wrong = text === null ? null : jsonProblem(text)
  const submit = async () => {
    const work = () =>
      api.deadLetters.redrive(id, text === null ? {} : { payload: JSON.parse(text) as unknown })
    if (!(await action.run(work, 'Back in the queue'))) return
    close()
    onDone()
  }
  return (
    <Ask
      title={data === undefined ? 'Re-drive one run' : `Re-drive one run of ${data.job}`}
      action={action}
      confirm="Re-drive"
      disabled={data === undefined || wrong !== null}
      onSubmit={() => void submit()}
      onClose={close}
    >
      {letter.loading && <Skeleton rows={3} />}
      {letter.error !== null && <ErrorNote error={letter.error} />}
      {data !== undefined && (
        <>
          <pre className="error-text">{data.error}</pre>
          <TextField
            label="Payload for this run alone, JSON"
            mono
            rows={8}
            value={shown}
            onChange={setText}
            problem={wrong}
          />
        </>
      )}
    </Ask>
  )
}

function jsonProblem(text: string): string | null {
  try {
    JSON.parse(text)
    return null
  } catch (error) {
    return `No JSON: ${(error as Error).message}`
  }
}
