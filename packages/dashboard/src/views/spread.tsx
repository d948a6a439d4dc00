import { useEffect, useRef, useState } from 'react'
import { count, plural, scheduleText } from '../lib/format.js'
import { useAction, useQuery, useShared } from '../lib/hooks.js'
import { type Given, giveJitter, type Suggestion, unspreadJobs } from '../lib/spread.js'
import { Ask } from '../ui/dialog.js'
import { Button, ErrorNote, Note, Progress } from '../ui/pieces.js'

/** Gives the jobs of a suggestion their jitter: counted first, then one after another while somebody looks on. */
export function SpreadDialog({
  suggestion,
  onClose,
  onDone,
}: {
  suggestion: Suggestion
  onClose: () => void
  onDone: () => void
}) {
  const { api } = useShared()
  const action = useAction()
  const [looked, setLooked] = useState(0)
  const [given, setGiven] = useState<Given | null>(null)
  const calledOff = useRef(new AbortController())
  useEffect(() => {
    const { current } = calledOff
    return () => current.abort()
  }, [])
  const { jitter_seconds: seconds, schedule, timezone } = suggestion
  const jobs = useQuery(`unspread ${JSON.stringify([schedule, timezone])}`, (signal) =>
    unspreadJobs(api, suggestion, { signal, onLooked: setLooked }),
  )
  const total = jobs.data?.length ?? 0
  const managed = jobs.data?.filter(({ managed_by: owner }) => owner !== null).length ?? 0
  const begun = given !== null
  const finish = () => {
    if (begun) onDone()
    onClose()
  }
  const start = () =>
    action.run(async () => {
      const { signal } = calledOff.current
      setGiven({ done: 0, failed: [] })
      const { failed } = await giveJitter(api, jobs.data ?? [], seconds, { signal, onGiven: setGiven })
      if (signal.aborted || failed.length > 0) return
      onDone()
      onClose()
    }, 'Spread')
  return (
    <Ask
      title={`Jitter of ${seconds} s`}
      action={action}
      confirm={`Give it to ${plural(total, 'job')}`}
      disabled={total === 0 || begun}
      onSubmit={() => void start()}
      onClose={finish}
    >
      <p>
        Jobs at <code>{scheduleText(schedule)}</code> <span className="aside">{timezone}</span> start up to{' '}
        {seconds} s later, each always by the same part. Their ticks keep their time.
      </p>
      {jobs.loading && (
        <p role="status" className="quiet">
          Looking for them: {plural(looked, 'job')} seen
        </p>
      )}
      {jobs.error !== null && <ErrorNote error={jobs.error} onRetry={jobs.reload} />}
      {jobs.data !== undefined && !begun && (
        <Note kind="info">
          <strong>{count(total)}</strong> {total === 1 ? 'job has' : 'jobs have'} this schedule now, and no
          jitter
          {total > 0 &&
            `: ${jobs.data
              .slice(0, 5)
              .map(({ name }) => name)
              .join(', ')}${total > 5 ? ' …' : ''}`}
        </Note>
      )}
      {managed > 0 && !begun && (
        <Note kind="warn">
          {plural(managed, 'job')} of them come from definitions that are applied: change them there as well,
          or the next apply takes the jitter back.
        </Note>
      )}
      {given !== null && <HowFar given={given} total={total} busy={action.busy} onStop={finish} />}
    </Ask>
  )
}

function HowFar({
  given: { done, failed },
  total,
  busy,
  onStop,
}: {
  given: Given
  total: number
  busy: boolean
  onStop: () => void
}) {
  return (
    <>
      <p role="status" className="with-progress">
        <Progress done={done + failed.length} total={total} label="Progress" /> {count(done + failed.length)}{' '}
        of {count(total)}
        {busy && (
          <Button look="danger" onClick={onStop}>
            Stop
          </Button>
        )}
      </p>
      {failed.length > 0 && (
        <Note kind="bad">
          {plural(failed.length, 'job')} could not be changed:
          <ul>
            {failed.slice(0, 5).map(({ name, error }) => (
              <li key={name}>
                {name}: {error.message}
              </li>
            ))}
          </ul>
        </Note>
      )}
    </>
  )
}
