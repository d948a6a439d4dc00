import type { CommandTarget, HttpTarget, TaskTarget } from '@carillon/contract'
import { useId } from 'react'
import type { JobForm } from '../lib/job-form.js'
import type { Problems } from '../lib/problems.js'
import { Field, SelectField, TextField } from '../ui/field.js'
import { Button, Panel } from '../ui/pieces.js'

interface FieldsProps {
  form: JobForm
  set: (changes: Partial<JobForm>) => void
  problems: Problems
}

export function BasicFields({ form, set, problems }: FieldsProps) {
  return (
    <Panel title="Job">
      <TextField
        label="Name"
        required
        value={form.name}
        onChange={(name) => set({ name })}
        problem={problems['name']}
        placeholder="billing:nightly"
        hint="Unique among the live jobs of the tenant"
      />
      <div className="pair">
        <TextField
          label="Description"
          value={form.description}
          onChange={(description) => set({ description })}
          problem={problems['description']}
          hint="What it is for"
        />
        <TextField
          label="Tags"
          value={form.tags}
          onChange={(tags) => set({ tags })}
          problem={problems['tags']}
          hint="Separated by spaces"
        />
      </div>
    </Panel>
  )
}

const presets: [string, string][] = [
  ['Every minute', '* * * * *'],
  ['Hourly', '0 * * * *'],
  ['Daily 09:00', '0 9 * * *'],
  ['Weekdays 09:00', '0 9 * * 1-5'],
  ['Monthly, the 1st', '0 6 1 * *'],
  ['Every 30 s', '@every 30s'],
]

const zones =
  typeof Intl.supportedValuesOf === 'function' ? ['UTC', ...Intl.supportedValuesOf('timeZone')] : ['UTC']

export function ScheduleFields({ form, set, problems }: FieldsProps) {
  const list = useId()
  return (
    <Panel title="Schedule">
      <TextField
        label="Schedule"
        mono
        required
        value={form.schedule}
        onChange={(schedule) => set({ schedule })}
        problem={problems['schedule']}
        hint='Cron, "@every 5m", an instant, or rules as JSON'
      />
      <div className="quick">
        {presets.map(([words, schedule]) => (
          <Button key={schedule} onClick={() => set({ schedule })}>
            {words}
          </Button>
        ))}
      </div>
      <div className="pair">
        <Field label="Time zone" hint="IANA name" problem={problems['timezone']}>
          {(props) => (
            <>
              <input
                {...props}
                list={list}
                value={form.timezone}
                spellCheck={false}
                onChange={(event) => set({ timezone: event.target.value })}
              />
              <datalist id={list}>
                {zones.map((zone) => (
                  <option key={zone} value={zone} />
                ))}
              </datalist>
            </>
          )}
        </Field>
        <TextField
          label="Exclude"
          value={form.exclude}
          onChange={(exclude) => set({ exclude })}
          problem={problems['exclude']}
          placeholder="2026-12-24/2027-01-02, bank-holidays"
          hint="Dates, ranges or calendars, with commas"
        />
      </div>
      <MoreSchedule form={form} set={set} problems={problems} />
    </Panel>
  )
}

function MoreSchedule({ form, set, problems }: FieldsProps) {
  return (
    <details className="more">
      <summary>Clock changes, bounds, spreading</summary>
      <div className="pair">
        <SelectField
          label="Clocks jump over it"
          value={form.dst_gap}
          onChange={(dst_gap) => set({ dst_gap })}
          options={[
            ['run_after', 'run at the jump'],
            ['skip', 'skip it'],
          ]}
        />
        <SelectField
          label="Clocks show it twice"
          value={form.dst_overlap}
          onChange={(dst_overlap) => set({ dst_overlap })}
          options={[
            ['first', 'the first time'],
            ['last', 'the last time'],
            ['both', 'both times'],
          ]}
        />
      </div>
      <div className="pair">
        <TextField
          label="Not before"
          mono
          value={form.starts_at}
          onChange={(starts_at) => set({ starts_at })}
          problem={problems['starts_at']}
        />
        <TextField
          label="Not at or after"
          mono
          value={form.ends_at}
          onChange={(ends_at) => set({ ends_at })}
          problem={problems['ends_at']}
        />
      </div>
      <div className="pair">
        <TextField
          label="Jitter, seconds"
          value={form.jitter_seconds}
          onChange={(jitter_seconds) => set({ jitter_seconds })}
          problem={problems['jitter_seconds']}
          hint="Starts later by a part of this, the same at every tick"
        />
        <TextField
          label="Fire window, seconds"
          value={form.fire_window_seconds}
          onChange={(fire_window_seconds) => set({ fire_window_seconds })}
          problem={problems['fire_window_seconds']}
          hint="May start anywhere in it"
        />
      </div>
      <SelectField
        label="Excluded ticks"
        value={form.on_excluded}
        onChange={(on_excluded) => set({ on_excluded })}
        options={[
          ['exclude', 'are dropped'],
          ['next_business_day', 'move to the next business day'],
          ['previous_business_day', 'move to the business day before'],
        ]}
      />
    </details>
  )
}

export function TargetFields({ form, set, problems }: FieldsProps) {
  const { target } = form
  const change = (type: string) => {
    if (type === 'http') set({ target: { type, url: '', method: 'POST' } })
    else if (type === 'task') set({ target: { type, task: '' } })
    else set({ target: { type: 'command', shell: '' } })
  }
  return (
    <Panel title="Target">
      <div className="segmented" role="group" aria-label="Kind of target">
        {(['http', 'task', 'command'] as const).map((type) => (
          <button key={type} type="button" aria-pressed={target.type === type} onClick={() => change(type)}>
            {type === 'http' ? 'HTTP' : type}
          </button>
        ))}
      </div>
      {target.type === 'http' && <HttpFields form={form} target={target} set={set} problems={problems} />}
      {target.type === 'task' && (
        <TextField
          label="Task"
          value={target.task}
          onChange={(task) => set({ target: { ...target, task } satisfies TaskTarget })}
          problem={problems['target']}
          hint="A function that a worker has loaded, by its name"
        />
      )}
      {target.type === 'command' && (
        <CommandFields form={form} target={target} set={set} problems={problems} />
      )}
      <TextField
        label="Payload, JSON"
        mono
        rows={5}
        value={form.payload}
        onChange={(payload) => set({ payload })}
        problem={problems['payload']}
        hint="Given to the target with every run"
      />
    </Panel>
  )
}

function HttpFields({ form, target, set, problems }: FieldsProps & { target: HttpTarget }) {
  return (
    <>
      <div className="pair narrow-first">
        <SelectField
          label="Method"
          value={target.method ?? 'POST'}
          onChange={(method) =>
            set({ target: { ...target, method: method as NonNullable<HttpTarget['method']> } })
          }
          options={['POST', 'PUT', 'PATCH', 'GET', 'DELETE']}
        />
        <TextField
          label="URL"
          mono
          value={target.url}
          onChange={(url) => set({ target: { ...target, url } })}
          problem={problems['target']}
          placeholder="https://api.example.com/hooks/nightly"
        />
      </div>
      <TextField
        label="Headers"
        mono
        rows={2}
        value={form.headers}
        onChange={(headers) => set({ headers })}
        problem={problems['headers']}
        hint="One a line: Name: value"
      />
    </>
  )
}

function CommandFields({ form, target, set, problems }: FieldsProps & { target: CommandTarget }) {
  return (
    <div className="pair">
      <TextField
        label="Shell line"
        mono
        value={target.shell ?? ''}
        onChange={(shell) => set({ target: { ...target, shell }, argv: '' })}
        problem={problems['target']}
        hint="For /bin/sh -c"
      />
      <TextField
        label="Or program and arguments, JSON"
        mono
        value={form.argv}
        onChange={(argv) => set({ argv })}
        problem={problems['argv']}
        placeholder='["pg_dump", "--format=c"]'
      />
    </div>
  )
}

export function RunFields({ form, set, problems }: FieldsProps) {
  return (
    <Panel title="Runs">
      <div className="pair">
        <SelectField
          label="While the run before goes on"
          value={form.overlap_policy}
          onChange={(overlap_policy) => set({ overlap_policy })}
          problem={problems['overlap_policy']}
          options={[
            ['SKIP', 'SKIP: pass over the tick'],
            ['QUEUE', 'QUEUE: let one wait'],
            ['ALLOW', 'ALLOW: run side by side'],
            ['REPLACE', 'REPLACE: cancel the one going on'],
          ]}
        />
        <SelectField
          label="After an outage"
          value={form.missed_window}
          onChange={(missed_window) => set({ missed_window })}
          problem={problems['missed_window']}
          options={[
            ['RUN_ONCE', 'RUN_ONCE: run the last missed tick'],
            ['RUN_ALL', 'RUN_ALL: run every missed tick'],
            ['SKIP', 'SKIP: run none'],
          ]}
        />
      </div>
      <div className="four">
        <TextField
          label="Retries"
          value={form.max_retries}
          onChange={(max_retries) => set({ max_retries })}
          problem={problems['max_retries']}
        />
        <SelectField
          label="Backoff"
          value={form.retry_backoff}
          onChange={(retry_backoff) => set({ retry_backoff })}
          problem={problems['retry_backoff']}
          options={['exponential', 'linear', 'fixed']}
        />
        <TextField
          label="Timeout, seconds"
          value={form.timeout_seconds}
          onChange={(timeout_seconds) => set({ timeout_seconds })}
          problem={problems['timeout_seconds']}
        />
        <TextField
          label="Priority, 0 to 9"
          value={form.priority}
          onChange={(priority) => set({ priority })}
          problem={problems['priority']}
        />
      </div>
    </Panel>
  )
}
