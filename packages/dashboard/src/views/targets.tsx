import type { TargetHost } from '@carillon/contract'
import { useCallback, useState } from 'react'
import { brief, count, plural } from '../lib/format.js'
import { useAction, useQuery, useShared } from '../lib/hooks.js'
import { to } from '../lib/location.js'
import { Link, navigate, setParams, useParam } from '../lib/router.js'
import { useRowKeys } from '../lib/rows.js'
import { Columns } from '../ui/columns.js'
import { Ask } from '../ui/dialog.js'
import { TextField } from '../ui/field.js'
import { Button, Empty, ErrorNote, Facts, LinkButton, Note, PageHead, Panel, Skeleton } from '../ui/pieces.js'
import { Status } from '../ui/status.js'
import { Ago, Time } from '../ui/time.js'
import { Pager } from './jobs.js'

/** The hosts that http jobs call: what protects them, and what waits for them. */
export default function Targets() {
  const { api } = useShared()
  const [host] = useParam('host')
  const [cursor] = useParam('cursor')
  const targets = useQuery(
    `targets ${cursor}`,
    () => api.targets.list({ limit: 50, ...(cursor !== '' && { cursor }) }),
    { every: 3_000 },
  )
  const rows = (targets.data?.data ?? []).toSorted((a, b) => rank(a) - rank(b))
  return (
    <>
      <PageHead
        title="Targets"
        below={
          <p className="quiet">
            Hosts that http jobs call, with their breakers and limits. Runs that wait for a host burn no
            attempts.
          </p>
        }
      />
      {targets.error !== null && <ErrorNote error={targets.error} onRetry={targets.reload} />}
      {host !== '' && <Host host={host} onChange={targets.reload} />}
      {targets.loading && <Skeleton rows={6} />}
      {targets.data !== undefined && rows.length === 0 && (
        <Empty icon="target" title="No job calls a host.">
          <p className="quiet">Hosts appear here with the first http job.</p>
        </Empty>
      )}
      {rows.length > 0 && <HostTable rows={rows} chosen={host} />}
      <Pager next={targets.data?.next_cursor ?? null} shown={rows.length} />
    </>
  )
}

/** What is ill comes first. */
function rank({ breaker, waiting }: TargetHost): number {
  if (breaker.state === 'open') return 0
  if (breaker.state !== 'closed') return 1
  return waiting > 0 ? 2 : 3
}

function HostTable({ rows, chosen }: { rows: readonly TargetHost[]; chosen: string }) {
  const open = useCallback((host: string) => navigate(to.target(host)), [])
  const keys = useRowKeys(
    rows.map(({ host }) => host),
    open,
  )
  return (
    <div className="frame">
      <table className="grid">
        <caption className="unseen">Hosts</caption>
        <Columns
          of={[
            'Host',
            'Breaker',
            { number: 'Jobs' },
            { number: 'In flight' },
            { number: 'Waiting' },
            'Limits',
            'Last error',
          ]}
        />
        <tbody>
          {rows.map((row, index) => (
            <tr key={row.host} data-at={index === keys.at} className={row.host === chosen ? 'picked' : ''}>
              <td>
                <Link className="name" href={to.target(row.host)}>
                  {row.host}
                </Link>
              </td>
              <td className="nowrap">
                <Status state={row.breaker.state} />
                {row.breaker.retry_at !== null && (
                  <span className="aside">
                    {' '}
                    probe <Ago at={row.breaker.retry_at} />
                  </span>
                )}
              </td>
              <td className="number">{count(row.jobs)}</td>
              <td className="number">{count(row.in_flight)}</td>
              <td className="number">
                {count(row.waiting)}
                {row.waiting_since !== null && (
                  <span className="aside">
                    {' '}
                    since <Ago at={row.waiting_since} />
                  </span>
                )}
              </td>
              <td>{limitWords(row)}</td>
              <td className="cut" title={row.breaker.last_error ?? ''}>
                {brief(row.breaker.last_error ?? '')}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function limitWords({ limits }: TargetHost): string {
  const words = [
    limits.rate_per_second !== null && `${limits.rate_per_second}/s`,
    limits.max_concurrent !== null && `${limits.max_concurrent} at once`,
    limits.timeout_seconds !== null && `${limits.timeout_seconds} s`,
    limits.breaker_enabled === false && 'no breaker',
  ].filter((part) => part !== false)
  return words.length === 0 ? 'none' : words.join(', ')
}

function Host({ host, onChange }: { host: string; onChange: () => void }) {
  const { api, mayWrite } = useShared()
  const action = useAction()
  const [open, setOpen] = useState(false)
  const target = useQuery(`target ${host}`, () => api.targets.get(host), { every: 2_000 })
  const act = async (work: () => Promise<unknown>, done: string) => {
    if (!(await action.run(work, done))) return
    target.reload()
    onChange()
  }
  const one = target.data
  return (
    <Panel
      title={host}
      actions={
        <>
          {mayWrite && one !== undefined && (
            <>
              {one.breaker.state !== 'closed' && (
                <Button
                  look="main"
                  disabled={action.busy}
                  onClick={() =>
                    void act(() => api.targets.reset(host), 'What was parked leaves at the pace of a drain')
                  }
                >
                  Reset the breaker
                </Button>
              )}
              <Button onClick={() => setOpen(true)}>Limits</Button>
            </>
          )}
          <LinkButton href={`/jobs?kind=http&host=${encodeURIComponent(host)}`}>Its jobs</LinkButton>
          <Button look="bare" icon="cross" aria-label="Close" onClick={() => setParams({ host: null })} />
        </>
      }
    >
      {target.loading && <Skeleton rows={2} />}
      {target.error !== null && <ErrorNote error={target.error} />}
      {action.error !== null && <ErrorNote error={action.error} />}
      {one !== undefined && <HostFacts target={one} />}
      {open && one !== undefined && (
        <LimitsDialog
          target={one}
          onClose={() => setOpen(false)}
          onDone={() => (target.reload(), onChange())}
        />
      )}
    </Panel>
  )
}

function HostFacts({ target: { breaker, waiting, in_flight: inFlight } }: { target: TargetHost }) {
  return (
    <>
      {breaker.state === 'open' && (
        <Note kind="bad">
          <strong>Nothing is sent there.</strong> {plural(waiting, 'run')} parked; no attempt is burnt.{' '}
          {breaker.retry_at !== null && (
            <>
              A probe goes <Time at={breaker.retry_at} withRelative />.
            </>
          )}
        </Note>
      )}
      <Facts
        facts={[
          ['Breaker', <Status key="breaker" state={breaker.state} />],
          breaker.since !== null && ['Since', <Time key="since" at={breaker.since} withRelative />],
          ['In this window', `${count(breaker.failures)} of ${count(breaker.attempts)} failed`],
          ['Failures in a row', count(breaker.failures_in_row)],
          ['Openings', count(breaker.openings)],
          ['In flight', count(inFlight)],
          ['Waiting', count(waiting)],
          breaker.last_failed_at !== null && [
            'Failed last',
            <Time key="failed" at={breaker.last_failed_at} withRelative />,
          ],
        ]}
      />
      {breaker.last_error !== null && <pre className="error-text">{breaker.last_error}</pre>}
    </>
  )
}

const limitFields = [
  ['rate_per_second', 'Starts a second'],
  ['burst', 'At once after a quiet time'],
  ['max_concurrent', 'Runs at once'],
  ['timeout_seconds', 'Longest attempt, seconds'],
  ['drain_per_second', 'Drain, runs a second'],
  ['breaker_failures_in_row', 'Opens after failures in a row'],
  ['breaker_open_seconds', 'Open before a probe, seconds'],
] as const

function LimitsDialog({
  target,
  onClose,
  onDone,
}: {
  target: TargetHost
  onClose: () => void
  onDone: () => void
}) {
  const { api } = useShared()
  const action = useAction()
  const [texts, setTexts] = useState(() =>
    Object.fromEntries(limitFields.map(([name]) => [name, String(target.limits[name] ?? '')])),
  )
  const submit = async () => {
    const limits = Object.fromEntries(
      limitFields.map(([name]) => [name, texts[name]?.trim() === '' ? null : Number(texts[name])]),
    )
    if (
      !(await action.run(() => api.targets.limit(target.host, limits), 'The limits hold for the whole fleet'))
    )
      return
    onClose()
    onDone()
  }
  return (
    <Ask
      title={`Limits of ${target.host}`}
      action={action}
      confirm="Set"
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <p className="quiet">For the whole fleet. Empty: no limit, or the usual value.</p>
      <div className="pairs">
        {limitFields.map(([name, words]) => (
          <TextField
            key={name}
            label={words}
            value={texts[name] ?? ''}
            onChange={(value) => setTexts({ ...texts, [name]: value })}
          />
        ))}
      </div>
    </Ask>
  )
}
