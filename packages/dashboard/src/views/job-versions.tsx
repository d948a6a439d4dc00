import type { Job, JobVersion } from '@carillon/contract'
import { useState } from 'react'
import { diffLines, sortedJson } from '../lib/diff.js'
import { useAction, useQuery, useShared } from '../lib/hooks.js'
import { setParams, useParam } from '../lib/router.js'
import { Ask } from '../ui/dialog.js'
import { TextField } from '../ui/field.js'
import { Button, ErrorNote, Panel, Skeleton } from '../ui/pieces.js'
import { Status } from '../ui/status.js'
import { Ago } from '../ui/time.js'

/** Every definition that the job had, what changed between two, and the way back. */
export function Versions({ job, onChange }: { job: Job; onChange: () => void }) {
  const { api, mayWrite } = useShared()
  const [shown] = useParam('version')
  const [back, setBack] = useState<JobVersion | null>(null)
  const versions = useQuery(`versions ${job.job_id} ${job.version}`, () =>
    api.jobs.versions(job.job_id, { limit: 50 }),
  )
  if (versions.loading) return <Skeleton rows={5} />
  if (versions.data === undefined)
    return versions.error === null ? null : <ErrorNote error={versions.error} />
  const rows = versions.data.data
  const chosen = rows.find(({ version }) => String(version) === shown) ?? rows[0]
  const before = chosen === undefined ? undefined : rows.find(({ version }) => version === chosen.version - 1)
  return (
    <div className="two versions">
      <Panel title="Versions" flush>
        <ul className="version-list">
          {rows.map((one) => (
            <li key={one.version}>
              <button
                type="button"
                aria-pressed={one === chosen}
                onClick={() => setParams({ version: one.version })}
              >
                <strong>v{one.version}</strong>
                {one.current && <Status state="active" words="current" />}
                <span className="version-what">
                  {one.version === 1 ? 'registered' : one.changed.join(', ')}
                </span>
                <span className="aside">
                  <Ago at={one.created_at} />
                </span>
                {one.reason !== null && <span className="version-reason">{one.reason}</span>}
              </button>
            </li>
          ))}
        </ul>
      </Panel>
      {chosen !== undefined && (
        <Panel
          title={
            before === undefined ? `Version ${chosen.version}` : `What version ${chosen.version} changed`
          }
          actions={
            mayWrite &&
            !chosen.current && <Button onClick={() => setBack(chosen)}>Roll back to v{chosen.version}</Button>
          }
        >
          <Diff
            before={before === undefined ? null : sortedJson(before.definition)}
            after={sortedJson(chosen.definition)}
          />
        </Panel>
      )}
      {back !== null && <Rollback job={job} version={back} onClose={() => setBack(null)} onDone={onChange} />}
    </div>
  )
}

const around = 3

function Diff({ before, after }: { before: string | null; after: string }) {
  const lines = diffLines(before ?? after, after)
  const changed = lines.map(({ kind }) => kind !== 'same')
  const near = (index: number) =>
    before === null || changed.slice(Math.max(0, index - around), index + around + 1).some((is) => is)
  const signs = { same: ' ', added: '+', removed: '−' }
  return (
    <pre className="diff" tabIndex={0} role="region" aria-label="Difference">
      {lines.map((line, index) =>
        near(index) ? (
          <div key={index} className={line.kind}>
            <span className="sign">{signs[line.kind]}</span>
            {line.text}
          </div>
        ) : near(index - 1) ? (
          <div key={index} className="fold">
            ⋯
          </div>
        ) : null,
      )}
    </pre>
  )
}

function Rollback({
  job,
  version,
  onClose,
  onDone,
}: {
  job: Job
  version: JobVersion
  onClose: () => void
  onDone: () => void
}) {
  const { api } = useShared()
  const action = useAction()
  const [reason, setReason] = useState('')
  const submit = async () => {
    const work = () => api.jobs.rollback(job.job_id, version.version, reason === '' ? {} : { reason })
    if (!(await action.run(work, `Version ${version.version} is current again, as a new version`))) return
    onClose()
    setParams({ version: null })
    onDone()
  }
  return (
    <Ask
      title={`Roll back to version ${version.version}`}
      action={action}
      confirm="Roll back"
      wide
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <p className="quiet">
        Its definition becomes that of a new version; history is kept. Compared with what is current:
      </p>
      <RollbackDiff job={job} version={version} />
      <TextField label="Reason" value={reason} onChange={setReason} autoFocus />
    </Ask>
  )
}

function RollbackDiff({ job, version }: { job: Job; version: JobVersion }) {
  const { api } = useShared()
  const current = useQuery(`version ${job.job_id} ${job.version}`, () =>
    api.jobs.version(job.job_id, job.version),
  )
  if (current.data === undefined) return <Skeleton rows={3} />
  return <Diff before={sortedJson(current.data.definition)} after={sortedJson(version.definition)} />
}
