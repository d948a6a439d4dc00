import type { Job } from '@carillon/contract'
import { ApiError } from '@carillon/sdk/browser'
import { type FormEvent, useState } from 'react'
import { useAction, useQuery, useShared } from '../lib/hooks.js'
import { emptyForm, formOf, inputOf, type JobForm, patchOf, type Problems } from '../lib/job-form.js'
import { to } from '../lib/location.js'
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
  return <Editor job={job.data} />
}

function Editor({ job }: { job: Job }) {
  const { api } = useShared()
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
  save: () => Promise<string>
}

function JobFormPage({ title, form, onChange, confirm, unchanged = false, back, save }: FormPageProps) {
  const action = useAction()
  const [tried, setTried] = useState(false)
  const { problems: own } = inputOf(form)
  const problems: Problems = { ...serverProblems(action.error), ...(tried ? own : onlyTyped(own, form)) }
  const set = (changes: Partial<JobForm>) => onChange({ ...form, ...changes })
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (Object.keys(own).length > 0) return
    await action.run(async () => navigate(to.job(await save())), 'Saved')
  }
  return (
    <>
      <PageHead title={title} />
      <form className="job-form form" onSubmit={(event) => void submit(event)}>
        <div className="job-form-fields">
          <BasicFields form={form} set={set} problems={problems} />
          <ScheduleFields form={form} set={set} problems={problems} />
          <TargetFields form={form} set={set} problems={problems} />
          <RunFields form={form} set={set} problems={problems} />
          {action.error !== null && <ErrorNote error={action.error} />}
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

/** The server names the field that it refuses by a pointer: the message stands beside that field. */
function serverProblems(error: Error | null): Problems {
  if (!(error instanceof ApiError)) return {}
  return Object.fromEntries(
    error.errors.map(({ pointer, message, hint }) => [
      pointer.split('/')[1] ?? '',
      `${message} ${hint ?? ''}`,
    ]),
  )
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
