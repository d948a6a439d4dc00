import type { Operation } from '@carillon/contract'
import { count, plural } from '../lib/format.js'
import { useAction, useQuery, useShared } from '../lib/hooks.js'
import { Link, useParam } from '../lib/router.js'
import { Columns } from '../ui/columns.js'
import { Button, Empty, ErrorNote, PageHead, Panel, Progress, Skeleton } from '../ui/pieces.js'
import { Status } from '../ui/status.js'
import { Ago } from '../ui/time.js'
import { to } from '../lib/location.js'
import { filterWords } from './bulk.js'

/** What was asked of many jobs at once, and how far each is. */
export default function Operations() {
  const { api } = useShared()
  const [id] = useParam('id')
  const [cursor] = useParam('cursor')
  const operations = useQuery(
    `operations ${cursor}`,
    () => api.operations.list({ limit: 30, ...(cursor !== '' && { cursor }) }),
    {
      every: 1_500,
    },
  )
  const rows = operations.data?.data ?? []
  const chosen = rows.find(({ operation_id: one }) => one === id)
  return (
    <>
      <PageHead
        title="Operations"
        below={<p className="quiet">Changes of many jobs at once, in the background.</p>}
      />
      {operations.error !== null && <ErrorNote error={operations.error} />}
      {operations.loading && <Skeleton />}
      {chosen !== undefined && <Chosen operation={chosen} />}
      {operations.data !== undefined && rows.length === 0 && (
        <Empty icon="filter" title="Nothing was changed in bulk yet.">
          <p className="quiet">Filter the jobs, then change all that match.</p>
        </Empty>
      )}
      {rows.length > 0 && (
        <div className="frame">
          <table className="grid">
            <caption className="unseen">Operations</caption>
            <Columns of={['Action', 'On', 'State', 'Progress', 'Asked']} />
            <tbody>
              {rows.map((operation) => (
                <tr key={operation.operation_id} className={operation.operation_id === id ? 'picked' : ''}>
                  <td>
                    <Link className="name" href={`/operations?id=${operation.operation_id}`}>
                      {operation.action}
                    </Link>
                  </td>
                  <td>{filterWords(operation.filter)}</td>
                  <td>
                    <Status state={operation.state} />
                  </td>
                  <td>
                    <Bar operation={operation} />
                  </td>
                  <td>
                    <Ago at={operation.created_at} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}

function Bar({ operation: { done, failed, total } }: { operation: Operation }) {
  return (
    <span className="with-progress">
      <Progress done={done + failed} total={total} label="Progress" />
      {count(done + failed)} of {count(total)}
      {failed > 0 && <span className="status bad">{count(failed)} failed</span>}
    </span>
  )
}

function Chosen({ operation }: { operation: Operation }) {
  const { api, mayWrite } = useShared()
  const action = useAction()
  const { operation_id: id, state, errors } = operation
  return (
    <Panel
      title={`${operation.action}: ${plural(operation.total, 'job')}`}
      aside={id}
      actions={
        mayWrite &&
        state === 'running' && (
          <Button
            look="danger"
            disabled={action.busy}
            onClick={() =>
              void action.run(() => api.operations.cancel(id), 'Cancelled. What was done stays done')
            }
          >
            Cancel
          </Button>
        )
      }
    >
      <p>
        <Status state={state} /> <Bar operation={operation} />
      </p>
      {action.error !== null && <ErrorNote error={action.error} />}
      {errors.length > 0 && (
        <ul className="plain">
          {errors.slice(0, 20).map(({ job_id: job, code, detail }) => (
            <li key={job}>
              <Link href={to.job(job)}>{job}</Link> <code>{code}</code> {detail}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
