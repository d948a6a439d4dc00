import type { Job, JobDryRun, JobInput, JobPatch } from '@carillon/contract'
import { type FormEvent, useRef, useState } from 'react'
import { useAction, useQuery, useRested, useShared } from '../lib/hooks.js'
import { emptyForm, formOf, inputOf, type JobForm, patchOf, refusalOf } from '../lib/job-form.js'
import { to } from '../lib/location.js'
import type { Problems } from '../lib/problems.js'
import { navigate } from '../lib/router.js'
import { viewerZone } from '../lib/format.js'
import { ErrorNote, LinkButton, Note, PageHead, Skeleton } from '../ui/pieces.js'
import { BasicFields, RunFields, ScheduleFields, TargetFields } from './job-fields.js'
import { SchedulePreviewPanel } from './schedule-preview.js'

export function CreateJob() {
  const { api, mayWrite } = useShared()
  const [form, setForm] = useState<JobForm>({ ...emptyForm, timezone: viewerZone() })
  if (!mayWrite)
    return <Note kind="warn">Your key may look, and not create jobs. That takes the role operator.</Note>
  return (
    <JobFormPage
      title="Create job"
      form={form}
      onChange={setForm}
      confirm="Create job"
      back="/jobs"
      // A form without a name is not filled in yet: its schedule is previewed all the same.
      asked={form.name.trim() === '' ? null : JSON.stringify(inputOf(form).input)}
      attempt={(input) => api.jobs.tryCreate(JSON.parse(input) as JobInput)}
      save={async () => {
        const { job_id: id } = await api.jobs.create(inputOf(form).input)
        return id
      }}
    />
  )
}

export function EditJob({ id }: { id: string }) {
  const { api, mayWrite } = useShared()
  const job = useQuery(`edit ${id}`, () => api.jobs.get(id))
  if (!mayWrite)
    return <Note kind="warn">Your key may look, and not change jobs. That takes the role operator.</Note>
  if (job.data === undefined)
    return job.error === null ? <Skeleton rows={10} /> : <ErrorNote error={job.error} />
  return <Editor key={id} latest={job.data} />
}

/** What was typed is compared with the job as it was when the form was opened, however it is looked at again meanwhile. */
function Editor({ latest }: { latest: Job }) {
  const { api } = useShared()
  const [job] = useState(latest)
  const [form, setForm] = useState(() => formOf(job))
  const patch = patchOf(job, form)
  const changed = Object.keys(patch)
  return (
    <JobFormPage
      title={`Edit ${job.name}`}
      form={form}
      onChange={setForm}
      confirm={changed.length === 0 ? 'Nothing changed' : `Save ${changed.join(', ')}`}
      unchanged={changed.length === 0}
      back={to.job(job.job_id)}
      asked={changed.length === 0 ? null : JSON.stringify({ ...patch, version: job.version })}
      attempt={(change) => api.jobs.tryEdit(job.job_id, JSON.parse(change) as JobPatch)}
      save={async () => {
        await api.jobs.edit(job.job_id, { ...patch, version: job.version })
        return job.job_id
      }}
    />
  )
}

interface FormPageProps {
  title: string
  form: JobForm
  onChange: (form: JobForm) => void
  confirm: string
  unchanged?: boolean
  back: string
  /** What would be sent, as JSON; null: nothing yet. */
  asked: string | null
  /** The server tries it, and changes nothing. */
  attempt: (asked: string) => Promise<JobDryRun>
  save: () => Promise<string>
}

function JobFormPage(props: FormPageProps) {
  const { title, form, onChange, confirm, unchanged = false, back, asked, attempt, save } = props
  const action = useAction()
  const [submitted, setSubmitted] = useState(false)
  const tried = useTried(asked, attempt)
  const { problems: own } = inputOf(form)
  // What was refused when it was to be saved is told by the last try from the next change on.
  const refusal = action.error ?? tried.error
  const refused = refusalOf(refusal, form)
  const problems: Problems = { ...refused.problems, ...own }
  const shown = submitted ? problems : onlyTyped(problems, form)
  const set = (changes: Partial<JobForm>) => {
    action.clear()
    onChange({ ...form, ...changes })
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setSubmitted(true)
    if (Object.keys(own).length > 0) return
    await action.run(async () => navigate(to.job(await save())), 'Saved')
  }
  return (
    <>
      <PageHead title={title} />
      <form className="job-form form" noValidate onSubmit={(event) => void submit(event)}>
        <div className="job-form-fields">
          <BasicFields form={form} set={set} problems={shown} />
          <ScheduleFields form={form} set={set} problems={shown} />
          <TargetFields form={form} set={set} problems={shown} />
          <RunFields form={form} set={set} problems={shown} />
          {refusal !== null && (refused.elsewhere || action.error !== null) && <ErrorNote error={refusal} />}
          {tried.warnings.map(({ code, message }) => (
            <Note key={code + message} kind="warn">
              {message}
            </Note>
          ))}
          <footer className="form-foot">
            <LinkButton href={back}>Back</LinkButton>
            <button type="submit" className="button main" disabled={action.busy || unchanged}>
              {action.busy ? 'Saving…' : confirm}
            </button>
          </footer>
        </div>
        <SchedulePreviewPanel form={form} />
      </form>
    </>
  )
}

/** What the server says of the form as it stands, once the typing has paused. The last word stays until there is a new one. */
function useTried(asked: string | null, attempt: (asked: string) => Promise<JobDryRun>) {
  const rested = useRested(asked, 300)
  const tried = useQuery(rested === null ? null : `try ${rested}`, () => attempt(rested ?? ''))
  const last = useRef<{ error: Error | null; warnings: JobDryRun['warnings'] }>({ error: null, warnings: [] })
  if (!tried.loading) {
    // What is said of the schedule stands in the preview.
    const warnings = (tried.data?.warnings ?? []).filter(({ code }) => code !== 'schedule')
    last.current = { error: tried.error, warnings }
  }
  return last.current
}

/** Before the first try only what was typed is judged: an empty form is not full of mistakes. */
function onlyTyped(problems: Problems, form: JobForm): Problems {
  const { name: _name, target: _target, ...rest } = problems
  const typed = {
    ...rest,
    ...(form.name !== '' && problems['name'] !== undefined && { name: problems['name'] }),
  }
  const empty = form.target.type === 'http' && form.target.url === ''
  return empty || problems['target'] === undefined ? typed : { ...typed, target: problems['target'] }
}
