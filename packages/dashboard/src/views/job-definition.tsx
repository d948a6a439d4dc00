import type { Job } from '@carillon/contract'
import { json } from '../lib/format.js'
import { Code, Facts, Panel } from '../ui/pieces.js'
import { Time } from '../ui/time.js'

export function Definition({ job }: { job: Job }) {
  return (
    <>
      <Panel title="Payload and target">
        <div className="two">
          <Code text={json(job.target)} label="Target" />
          <Code text={json(job.payload)} label="Payload" />
        </div>
      </Panel>
      <Panel title="Settings" aside={`version ${job.version}`}>
        <Facts
          facts={[
            ['Id', <code key="id">{job.job_id}</code>],
            ['Clocks jump over it', job.dst_gap],
            ['Clocks show it twice', job.dst_overlap],
            [
              'Excluded',
              job.exclude.length === 0 ? 'nothing' : `${job.exclude.join(', ')} (${job.on_excluded})`,
            ],
            ['Jitter', `${job.jitter_seconds} s`],
            ['Fire window', `${job.fire_window_seconds} s`],
            ['Starts', job.starts_at ?? 'at once'],
            ['Ends', job.ends_at ?? 'never'],
            ['Timeout', `${job.timeout_seconds} s`],
            ['Retries', `${job.max_retries}, ${job.retry_backoff}`],
            ['Worker lost', job.on_lost ?? 'retry'],
            [
              'Overlap',
              `${job.overlap_policy}${job.max_concurrent === null ? '' : `, at most ${job.max_concurrent}`}`,
            ],
            ['Missed', `${job.missed_window}, at most ${job.max_missed}`],
            ['Grace', job.misfire_grace_seconds === null ? 'none set' : `${job.misfire_grace_seconds} s`],
            ['Priority', String(job.priority)],
            ['Idempotency key', <code key="key">{job.idempotency_key_template}</code>],
            ['Registered', <Time key="created" at={job.created_at} zone={job.timezone} />],
            ['Changed', <Time key="updated" at={job.updated_at} zone={job.timezone} />],
          ]}
        />
      </Panel>
    </>
  )
}
