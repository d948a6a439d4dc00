import { json } from '../lib/format.js'
import { useQuery, useShared } from '../lib/hooks.js'
import { to } from '../lib/location.js'
import { Link, useParam } from '../lib/router.js'
import { useTypedParam } from '../lib/typed-param.js'
import { Columns } from '../ui/columns.js'
import { Code, Empty, ErrorNote, PageHead, Skeleton } from '../ui/pieces.js'
import { Time } from '../ui/time.js'
import { Pager } from './jobs.js'

/** Who changed what, the newest first. */
export default function Audit() {
  const { api } = useShared()
  const [actor] = useParam('actor')
  const [action] = useParam('action')
  const [subject] = useParam('subject')
  const [cursor] = useParam('cursor')
  const filter = {
    ...(actor !== '' && { actor }),
    ...(action !== '' && { action }),
    ...(subject !== '' && { subject }),
  }
  const entries = useQuery(
    `audit ${JSON.stringify(filter)} ${cursor}`,
    () => api.audit.list({ ...filter, limit: 50, ...(cursor !== '' && { cursor }) }),
    { every: cursor === '' ? 5_000 : undefined },
  )
  const rows = entries.data?.data ?? []
  return (
    <>
      <PageHead
        title="Audit"
        below={<p className="quiet">Every change, written with it; never altered, never removed.</p>}
      />
      <div className="facets">
        <FilterField name="actor" label="Actor" />
        <FilterField name="action" label="Action" />
        <FilterField name="subject" label="Subject" />
      </div>
      {entries.error !== null && <ErrorNote error={entries.error} onRetry={entries.reload} />}
      {entries.loading && <Skeleton rows={10} />}
      {entries.data !== undefined && rows.length === 0 && <Empty icon="audit" title="No change matches." />}
      {rows.length > 0 && (
        <div className="frame">
          <table className="grid">
            <caption className="unseen">Changes</caption>
            <Columns of={['When', 'Actor', 'Action', 'Subject', 'Detail']} />
            <tbody>
              {rows.map((entry) => (
                <tr key={entry.entry_id}>
                  <td className="nowrap">
                    <Time at={entry.at} withRelative />
                  </td>
                  <td>{entry.actor}</td>
                  <td>
                    <code>{entry.action}</code>
                  </td>
                  <td>{subjectLink(entry.subject)}</td>
                  <td className="wide-cell">
                    <details>
                      <summary>{short(entry.detail)}</summary>
                      <Code text={json(entry.detail)} label="Detail" />
                      {entry.request_id !== null && <p className="aside">request {entry.request_id}</p>}
                    </details>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Pager next={entries.data?.next_cursor ?? null} shown={rows.length} />
    </>
  )
}

function FilterField({ name, label }: { name: string; label: string }) {
  const [text, setText] = useTypedParam(name, 300)
  return (
    <label className="inline">
      <span>{label}</span>
      <input
        value={text}
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
        {...(name === 'actor' && { 'data-search': '' })}
      />
    </label>
  )
}

function subjectLink(subject: string) {
  if (/^job_[0-9a-z]{26}$/.test(subject)) return <Link href={to.job(subject)}>{subject}</Link>
  if (/^run_[0-9a-z]{30}$/.test(subject)) return <Link href={to.run(subject)}>{subject}</Link>
  return subject
}

function short(detail: unknown): string {
  const text = JSON.stringify(detail) ?? ''
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
