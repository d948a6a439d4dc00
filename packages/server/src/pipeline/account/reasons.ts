/** What a stable word of the ledger or the queue means, and what a person can do about it. */
export interface Explanation {
  readonly words: string
  readonly todo: string | null
}

const explanations: Readonly<Record<string, Explanation>> = {
  // Decisions not to run
  missed: {
    words: 'nobody fired it within the tolerance, and the missed_window of the job passes over such ticks',
    todo: 'missed_window RUN_ONCE or RUN_ALL runs missed ticks later. See carillon cluster for what holds up the schedulers.',
  },
  overlap: {
    words: 'the run of an earlier tick was still going on',
    todo: 'overlap_policy QUEUE lets one tick wait, ALLOW runs them side by side, REPLACE ends the earlier one. Or make the run shorter or the interval longer.',
  },
  dst_gap: {
    words: 'the clocks of its zone jumped over this time',
    todo: 'dst_gap run_after runs it at the jump.',
  },
  paused: {
    words: 'the job was paused, and its missed_window passes over such ticks',
    todo: 'missed_window RUN_ONCE or RUN_ALL runs them when the job is resumed.',
  },
  overload: {
    words: 'the schedulers were overloaded, and the missed_window of the job allows to pass over it',
    todo: 'See carillon events for the overload. Give jobs a fire window, or add schedulers.',
  },
  skipped_by_request: {
    words: 'somebody asked to leave this tick out',
    todo: 'To run it after all: carillon jobs backfill, or trigger the job.',
  },
  deleted: { words: 'the job was deleted before it ran', todo: null },
  job_deleted: { words: 'the job was deleted before it ran', todo: null },
  job_cancelled: {
    words: 'the job was cancelled before it ran',
    todo: 'A cancelled job stays so. Register it anew to let it go on: its name is free.',
  },
  edited: {
    words: 'the job was edited before it was fired, and its missed_window passed over it',
    todo: null,
  },
  max_runs: {
    words: 'the job had made as many runs as its max_runs allows',
    todo: 'Raise max_runs to let it go on.',
  },
  replaced: {
    words: 'a later tick took its place (overlap_policy REPLACE)',
    todo: 'overlap_policy QUEUE or SKIP lets a run end before the next begins.',
  },
  cancelled_before_start: { words: 'it was cancelled before it started', todo: null },
  cancelled: { words: 'it was cancelled', todo: null },
  // How attempts end
  worker_lost: {
    words: 'the worker that ran it is gone',
    todo: 'See the log of that worker. The next attempt goes to another one.',
  },
  worker_stopped: { words: 'the worker was stopped while it ran', todo: null },
  timeout: {
    words: 'it took longer than timeout_seconds',
    todo: 'Raise timeout_seconds, or make the work shorter.',
  },
  http_status: {
    words: 'the target answered with a status that is no success',
    todo: 'See the error, and the log of the target.',
  },
  connection: {
    words: 'the target could not be reached',
    todo: 'Check that the target runs, and that its name and network are right.',
  },
  blocked_address: {
    words: 'the target is at an address that is not allowed',
    todo: 'CARILLON_ALLOWED_NETWORKS opens private addresses.',
  },
  invalid_target: { words: 'the target cannot be used', todo: 'Correct the target of the job.' },
  signing: {
    words: 'the secrets to sign it with could not be read, so nothing was sent',
    todo: 'See the error: the worker could not ask the database.',
  },
  command_exit: {
    words: 'the command ended with an exit code that is no success',
    todo: 'See the error, and the output of the run. success_exit_codes of the target says what is a success.',
  },
  command_signal: {
    words: 'the command was ended by a signal of somebody else',
    todo: 'See the machine of the worker: the system ends what takes too much memory.',
  },
  command_start: {
    words: 'the command could not be started',
    todo: 'Check that the program and the working folder exist on the worker, and that its user may use them.',
  },
  task_error: { words: 'the task failed', todo: 'See the error, and the log of the worker.' },
  task_non_retryable: { words: 'the task failed and asked not to be tried again', todo: 'See the error.' },
  unserved: {
    words: 'the worker does not serve its task any more',
    todo: 'Start a worker with --tasks FILE.',
  },
  definition_missing: { words: 'the definition of its version is gone', todo: null },
  internal_error: { words: 'the worker itself failed', todo: 'See the log of the worker.' },
  failed: { words: 'the attempt failed', todo: 'See the error.' },
  // What a run waits for
  running: { words: 'it is running', todo: null },
  cancel_requested: {
    words: 'somebody asked to cancel it',
    todo: 'As long as it is in flight, its worker has to stop it: a task by heeding its signal. To run the job after all: carillon jobs trigger.',
  },
  waiting_for_retry: {
    words: 'its last attempt failed, and the next one is ahead',
    todo: 'See the error. carillon runs cancel ends it before the next attempt.',
  },
  job_paused: { words: 'its job is paused, and it goes on when the job is resumed', todo: 'Resume the job.' },
  staged: { words: 'it is staged and starts at its time', todo: null },
  no_worker_for_task: {
    words: 'no live worker serves its task',
    todo: 'Start a worker that has the task: carillon up --role worker --tasks FILE.',
  },
  no_worker_for_commands: {
    words: 'no live worker runs commands',
    todo: 'Start a worker that may: carillon up --role worker --allow-commands.',
  },
  breaker_open: {
    words: 'its host fails, and nothing is sent there for a while; no attempt is used up',
    todo: 'See the host. carillon targets show HOST says more; carillon targets reset HOST lets runs through again.',
  },
  target_draining: {
    words: 'its host is well again, and what was parked leaves at a set pace',
    todo: 'carillon targets limit HOST --drain sets the pace.',
  },
  target_rate: {
    words: 'its host has had its share of starts for now',
    todo: 'carillon targets limit HOST --rate sets how many a second.',
  },
  target_concurrency: {
    words: 'as many runs as its host may have at once are under way',
    todo: 'carillon targets limit HOST --concurrency sets how many.',
  },
  waiting_for_overlap_place: { words: 'it waits until an earlier run of the job has ended', todo: null },
  waiting_for_worker: {
    words: 'it is ready and waits for a worker',
    todo: 'If it stays so: carillon cluster shows whether workers are alive and how long the queue is.',
  },
}

export function explain(reason: string): Explanation {
  const known = Object.hasOwn(explanations, reason) ? explanations[reason] : undefined
  return known ?? { words: `the reason on record is "${reason}"`, todo: null }
}

export const knownReasons: readonly string[] = Object.keys(explanations)
