import { useQuery, useRested, useShared } from '../lib/hooks.js'
import { utc, viewerZone, wall } from '../lib/format.js'
import { inputOf, type JobForm } from '../lib/job-form.js'
import { Icon } from '../ui/icon.js'
import { ErrorNote, Note, Panel, Skeleton } from '../ui/pieces.js'

/** The ticks as the engine that fires them computes them, while the form is filled in. */
export function SchedulePreviewPanel({ form }: { form: JobForm }) {
  const { api } = useShared()
  const { schedule, timezone, dst_gap, dst_overlap, exclude, on_excluded, starts_at, ends_at } =
    inputOf(form).input
  const asked = {
    ...{ schedule, timezone, dst_gap, dst_overlap, exclude, on_excluded, count: 10 },
    ...(starts_at !== undefined && { starts_at }),
    ...(ends_at !== undefined && { ends_at }),
  }
  const rested = useRested(JSON.stringify(asked), 250)
  const preview = useQuery(form.schedule.trim() === '' ? null : `preview ${rested}`, () =>
    api.preview(JSON.parse(rested) as Parameters<typeof api.preview>[0]),
  )
  return (
    <aside className="preview" aria-label="Preview">
      <Panel title="Preview" aside="from the engine that fires">
        {preview.error !== null && <ErrorNote error={preview.error} />}
        {preview.data === undefined && preview.error === null && <Skeleton rows={6} />}
        {preview.data !== undefined && (
          <>
            <p className="preview-words">{preview.data.description}</p>
            {preview.data.warnings.map((warning) => (
              <Note key={warning} kind="warn">
                {warning}
              </Note>
            ))}
            {preview.data.ticks.length === 0 && <Note kind="warn">It has no tick ahead.</Note>}
            <ol className="preview-ticks">
              {preview.data.ticks.map(({ at, local, note }) => (
                <li key={at}>
                  <span className="mono">{local.replace('T', ' ')}</span>
                  <span className="aside">
                    {yours(at)} · {utc(Date.parse(at))}
                  </span>
                  {note !== null && (
                    <span className="status warn">
                      <Icon name="warn" /> {note}
                    </span>
                  )}
                </li>
              ))}
            </ol>
          </>
        )}
      </Panel>
    </aside>
  )
}

function yours(at: string): string {
  const { weekday, date, time } = wall(Date.parse(at), viewerZone())
  return `you: ${weekday} ${date} ${time}`
}
