import type { Job, JobQuery, JobState, OperationFilter } from '@carillon/contract'
import { useCallback, useState } from 'react'
import { scheduleText, targetText } from '../lib/format.js'
import { useQuery, useShared } from '../lib/hooks.js'
import { rememberName } from '../lib/job-names.js'
import { to } from '../lib/location.js'
import { Link, navigate, setParams, useParam, usePlace } from '../lib/router.js'
import { useRowKeys } from '../lib/rows.js'
import { useTypedParam } from '../lib/typed-param.js'
import { Columns } from '../ui/columns.js'
import { Icon } from '../ui/icon.js'
import { Button, Empty, ErrorNote, LinkButton, PageHead, Skeleton, Tags } from '../ui/pieces.js'
import { RunStatusMark, Status } from '../ui/status.js'
import { Ago, Time } from '../ui/time.js'
import { BulkDialog } from './bulk.js'

const states = ['', 'active', 'paused', 'ended', 'cancelled'] as const
const kinds = ['', 'http', 'task', 'command'] as const
const orders = [
  ['next_run', 'Next run'],
  ['name', 'Name'],
  ['newest', 'Newest'],
] as const
const pageSize = 50

/** What the address says about the list, for the list and for a change of all that it matches. */
function useFilter(): { query: JobQuery & { cursor?: string }; filter: OperationFilter; isEmpty: boolean } {
  const { search } = usePlace()
  const text = (name: string) => search.get(name) ?? ''
  const tags = search.getAll('tag')
  const target = [text('kind'), text('host')].filter((part) => part !== '').join(':')
  const common = {
    ...(text('q') !== '' && { search: text('q') }),
    ...(text('state') !== '' && { state: text('state') as JobState }),
    ...(target !== '' && { target }),
    ...(text('owner') !== '' && { managed_by: text('owner') }),
  }
  const filter: OperationFilter = { ...common, ...(tags.length > 0 && { tags }) }
  const order = text('order') === '' ? 'next_run' : (text('order') as NonNullable<JobQuery['order']>)
  const cursor = text('cursor')
  return {
    query: {
      ...common,
      ...(tags.length > 0 && { tag: tags }),
      order,
      limit: pageSize,
      ...(cursor !== '' && { cursor }),
    },
    filter,
    isEmpty: Object.keys(filter).length === 0,
  }
}

export function JobsList() {
  const { api, mayWrite } = useShared()
  const { query, filter, isEmpty } = useFilter()
  const [bulk, setBulk] = useState(false)
  const jobs = useQuery(`jobs ${JSON.stringify(query)}`, () => api.jobs.list(query), {
    every: 5_000,
    keep: true,
  })
  const rows = jobs.data?.data ?? []
  for (const { job_id: id, name } of rows) rememberName(id, name)
  const open = useCallback((id: string) => navigate(to.job(id)), [])
  const keys = useRowKeys(
    rows.map(({ job_id: id }) => id),
    open,
    { selectable: mayWrite, scope: JSON.stringify(filter) },
  )
  return (
    <>
      <PageHead title="Jobs">
        {mayWrite && (
          <>
            <Button icon="filter" onClick={() => setBulk(true)}>
              {keys.selected.size > 0
                ? `Change ${keys.selected.size} selected`
                : isEmpty
                  ? 'Change all'
                  : 'Change all that match'}
            </Button>
            <LinkButton href="/jobs/new" icon="plus" look="main">
              Create job
            </LinkButton>
          </>
        )}
      </PageHead>
      <Facets />
      {jobs.error !== null && <ErrorNote error={jobs.error} onRetry={jobs.reload} />}
      {jobs.loading && <Skeleton rows={12} />}
      {jobs.data !== undefined && rows.length === 0 && <NoJobs filtered={!isEmpty || 'cursor' in query} />}
      {rows.length > 0 && <JobsTable rows={rows} keys={keys} selectable={mayWrite} />}
      <Pager next={jobs.data?.next_cursor ?? null} shown={rows.length} />
      {bulk && (
        <BulkDialog
          filter={keys.selected.size > 0 ? { job_ids: [...keys.selected] } : filter}
          onClose={() => setBulk(false)}
        />
      )}
    </>
  )
}

function NoJobs({ filtered }: { filtered: boolean }) {
  const { mayWrite } = useShared()
  if (filtered)
    return (
      <Empty icon="search" title="No job matches.">
        <Button onClick={() => navigate('/jobs')}>Clear the filter</Button>
      </Empty>
    )
  return (
    <Empty icon="jobs" title="No jobs yet.">
      {mayWrite && (
        <LinkButton href="/jobs/new" look="main">
          Create the first one
        </LinkButton>
      )}
    </Empty>
  )
}

function SearchBox() {
  const [focus] = useParam('focus')
  const [text, setText] = useTypedParam('q', 150)
  return (
    <div className="search">
      <Icon name="search" />
      <input
        data-search
        type="search"
        value={text}
        autoFocus={focus === 'search'}
        placeholder="Search name, description or id"
        aria-label="Search jobs"
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return
          // Browsers would empty the field: what was searched for stays, the keys are the list's again.
          event.preventDefault()
          event.currentTarget.blur()
        }}
      />
      <kbd>/</kbd>
    </div>
  )
}

function Facets() {
  const [state] = useParam('state')
  const [kind] = useParam('kind')
  const [order] = useParam('order')
  const { search } = usePlace()
  const tags = search.getAll('tag')
  const set = (changes: Parameters<typeof setParams>[0]) => setParams({ ...changes, cursor: null })
  return (
    <div className="facets">
      <SearchBox />
      <div className="segmented" role="group" aria-label="State">
        {states.map((one) => (
          <button key={one} type="button" aria-pressed={state === one} onClick={() => set({ state: one })}>
            {one === '' ? 'All' : one}
          </button>
        ))}
      </div>
      <label className="inline">
        <span>Target</span>
        <select value={kind} onChange={(event) => set({ kind: event.target.value, host: null })}>
          {kinds.map((one) => (
            <option key={one} value={one}>
              {one === '' ? 'any' : one}
            </option>
          ))}
        </select>
      </label>
      <label className="inline">
        <span>Sort</span>
        <select
          value={order === '' ? 'next_run' : order}
          onChange={(event) => set({ order: event.target.value })}
        >
          {orders.map(([name, words]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <TagFacet tags={tags} onChange={(tag) => set({ tag })} />
      {(['host', 'owner'] as const).map((name) =>
        search.get(name) === null ? null : (
          <Chip
            key={name}
            words={`${name}: ${search.get(name) ?? ''}`}
            onRemove={() => set({ [name]: null })}
          />
        ),
      )}
    </div>
  )
}

function TagFacet({ tags, onChange }: { tags: string[]; onChange: (tags: string[]) => void }) {
  const [text, setText] = useState('')
  return (
    <>
      <form
        className="inline"
        onSubmit={(event) => {
          event.preventDefault()
          if (text.trim() !== '') onChange([...new Set([...tags, text.trim()])])
          setText('')
        }}
      >
        <label className="inline">
          <span>Tag</span>
          <input
            className="tag-field"
            value={text}
            placeholder="add, then Enter"
            onChange={(event) => setText(event.target.value)}
          />
        </label>
      </form>
      {tags.map((tag) => (
        <Chip key={tag} words={tag} onRemove={() => onChange(tags.filter((one) => one !== tag))} />
      ))}
    </>
  )
}

function Chip({ words, onRemove }: { words: string; onRemove: () => void }) {
  return (
    <span className="chip">
      {words}
      <button type="button" aria-label={`Remove ${words}`} onClick={onRemove}>
        <Icon name="cross" size={11} />
      </button>
    </span>
  )
}

interface TableProps {
  rows: readonly Job[]
  keys: ReturnType<typeof useRowKeys>
  selectable: boolean
}

function JobsTable({ rows, keys, selectable }: TableProps) {
  return (
    <div className="frame">
      <table className="grid">
        <caption className="unseen">Jobs</caption>
        <Columns
          of={['Name', 'State', 'Schedule', 'Next run', 'Last run', 'Target']}
          first={
            selectable && (
              <th scope="col" className="pick">
                <input
                  type="checkbox"
                  aria-label="Select all on this page"
                  checked={keys.selected.size > 0 && rows.every(({ job_id: id }) => keys.selected.has(id))}
                  onChange={(event) => keys.selectAll(event.target.checked)}
                />
              </th>
            )
          }
        />
        <tbody>
          {rows.map((job, index) => (
            <JobRow key={job.job_id} job={job} at={index === keys.at} keys={keys} selectable={selectable} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function JobRow({ job, at, keys, selectable }: { job: Job; at: boolean } & Omit<TableProps, 'rows'>) {
  const picked = keys.selected.has(job.job_id)
  return (
    <tr data-at={at} className={picked ? 'picked' : ''}>
      {selectable && (
        <td className="pick">
          <input
            type="checkbox"
            aria-label={`Select ${job.name}`}
            checked={picked}
            onChange={() => keys.toggle(job.job_id)}
          />
        </td>
      )}
      <td className="wide-cell">
        <Link className="name" href={to.job(job.job_id)}>
          {job.name}
        </Link>
        {job.warnings.length > 0 && (
          <span className="status warn" title={job.warnings.map(({ message }) => message).join('\n')}>
            <Icon name="warn" />
            <span className="unseen">{job.warnings.map(({ message }) => message).join(' ')}</span>
          </span>
        )}
        <Tags tags={job.tags} />
      </td>
      <td>
        <Status state={job.state} />
      </td>
      <td>
        <code>{scheduleText(job.schedule)}</code> <span className="aside">{job.timezone}</span>
      </td>
      <td className="nowrap">
        {job.next_run_at === null ? (
          <span className="quiet">none ahead</span>
        ) : (
          <Time at={job.next_run_at} zone={job.timezone} withRelative ahead />
        )}
      </td>
      <td className="nowrap">
        {job.last_run_at === null || job.last_run_status === null ? (
          <span className="quiet">never</span>
        ) : (
          <>
            <RunStatusMark status={job.last_run_status} />{' '}
            <span className="aside">
              <Ago at={job.last_run_at} zone={job.timezone} />
            </span>
          </>
        )}
      </td>
      <td className="cut" title={targetText(job.target)}>
        <span className="kind">{job.target.type}</span> {targetText(job.target)}
      </td>
    </tr>
  )
}

export function Pager({ next, shown }: { next: string | null; shown: number }) {
  const [cursor] = useParam('cursor')
  if (cursor === '' && next === null) return null
  return (
    <nav className="pager" aria-label="Pages">
      {cursor !== '' && (
        <Button onClick={() => setParams({ cursor: null }, { replace: false })}>First page</Button>
      )}
      <span className="aside">{shown} shown</span>
      {next !== null && (
        <Button onClick={() => setParams({ cursor: next }, { replace: false })}>Next page</Button>
      )}
    </nav>
  )
}
