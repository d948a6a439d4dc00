import type { Command } from 'commander'
import type { JobFlags } from './job-input.js'
import { readInput } from './read-input.js'
import { append } from './settings.js'

/** The flags that describe a job: for registering one, and for changing one. */
export function withJobFlags(command: Command): Command {
  return command
    .option(
      '--schedule <schedule>',
      'cron "0 9 * * 1", interval "@every 5m", or instant "2026-12-01T09:00:00Z"',
    )
    .option('--description <text>', 'for people')
    .option('--tags <tag>', 'a tag; may be repeated', append)
    .option('--owner <name>', 'who manages it (managed_by)')
    .option('--timezone <zone>', 'IANA name that the schedule is meant in (default UTC)')
    .option('--http <url>', 'call this URL')
    .option('--method <method>', 'HTTP method (default POST)')
    .option('--header <header>', "'Name: value', sent with every call; may be repeated", append)
    .option('--task <name>', "run this task of a worker (default: the job's name)")
    .option('--payload <json>', 'JSON value given to the target; @file reads a file, - reads stdin')
    .option('--max-retries <n>', 'retries after the first attempt (default 3)')
    .option('--retry-backoff <kind>', 'fixed, linear or exponential (default exponential)')
    .option(
      '--missed-window <policy>',
      'ticks missed in an outage: SKIP, RUN_ONCE or RUN_ALL (default RUN_ONCE)',
    )
    .option('--max-missed <n>', 'most missed ticks that RUN_ALL runs (default 10)')
    .option('--misfire-grace-seconds <n>', 'a tick missed longer ago than this is not run')
    .option('--timeout-seconds <n>', 'time that one attempt has (default 300)')
    .option('--start-within <seconds>', 'a run that has not started by then raises an alert (expect)')
    .option('--finish-within <seconds>', 'an attempt that takes longer raises an alert (expect)')
    .option('--idempotency-key-template <template>', 'default {{job_id}}:{{scheduled_at_unix}}')
    .option('--overlap <policy>', 'a tick while a run goes on: SKIP, ALLOW, QUEUE or REPLACE (default SKIP)')
    .option('--max-concurrent <n>', 'with ALLOW: most runs at once (default any number)')
    .option('--priority <n>', '0 to 9: of several due runs the higher starts first (default 5)')
    .option('--exclude <what>', 'a date, a range of dates or a calendar; may be repeated', append)
    .option('--on-excluded <policy>', 'exclude, next_business_day or previous_business_day (default exclude)')
    .option('--starts-at <instant>', 'no tick before')
    .option('--ends-at <instant>', 'no tick at or after')
    .option('--max-runs <n>', 'the job ends after so many runs')
    .option('--jitter-seconds <n>', 'starts later by a part of this, the same at every tick')
    .option('--fire-window-seconds <n>', 'may start anywhere in this time after its tick')
    .option('--dst-gap <policy>', 'a wall time that the clocks jump over: run_after or skip')
    .option('--dst-overlap <policy>', 'a wall time that the clocks show twice: first, last or both')
}

/** The text of the payload, from the flag itself, a file or stdin. */
export async function payloadOf({ payload }: JobFlags): Promise<Pick<JobFlags, 'payload'>> {
  if (payload === undefined) return {}
  if (payload === '-') return { payload: await readInput('-') }
  return { payload: payload.startsWith('@') ? await readInput(payload.slice(1)) : payload }
}
