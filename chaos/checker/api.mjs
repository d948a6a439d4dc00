// Invariant 6: what the API acknowledged is there; what nobody knows of is there or not, never half.

/**
 * @param {{ name: string, calls: object[], job: object | undefined, versions: object[], known: Set<string> }} about one job: calls in
 *   order; `versions` with the present one; `known`: its runs of which anything is known
 */
export function judgeCalls({ name, calls, job, versions, known }, verdict) {
  const created = calls.find(({ call }) => call === 'create')
  if (created?.status === 'ok' && job === undefined)
    return verdict.add('lost_acknowledged', `${name} was created, and is not there`)
  if (created?.status === 'failed' && job !== undefined)
    verdict.add('half_done', `${name} was refused, and is there`)
  if (job === undefined) return
  judgeEdits(name, calls, versions, verdict)
  judgeState(name, calls, job, verdict)
  for (const { call, status, run } of calls)
    if (call === 'trigger' && status === 'ok' && run !== undefined && !known.has(run))
      verdict.add('lost_acknowledged', `${name} was triggered, and nothing is known of ${run}`)
}

/** Each acknowledged edit is a version, whole; one of which nobody knows is a version or none. */
function judgeEdits(name, calls, versions, verdict) {
  const byMark = new Map(versions.map((definition) => [definition.description, definition]))
  const edits = calls.filter(({ call }) => call === 'edit')
  for (const { status, body } of edits) {
    const { description, ...change } = JSON.parse(body)
    const version = byMark.get(description)
    if (status === 'ok' && version === undefined)
      verdict.add('lost_acknowledged', `${name}: "${description}" is in no version`)
    if (status === 'failed' && version !== undefined)
      verdict.add('half_done', `${name}: "${description}" was refused, and is there`)
    if (version === undefined) continue
    for (const [field, value] of Object.entries(change))
      if (JSON.stringify(version[field] ?? null) !== JSON.stringify(value))
        verdict.add(
          'half_done',
          `${name}: "${description}" has ${field} ${JSON.stringify(version[field])}, not ${JSON.stringify(value)}`,
        )
  }
}

/** The state is that of the last call that changed it, unless nobody knows of one after it. */
function judgeState(name, calls, job, verdict) {
  const changing = calls.filter(
    ({ call, status }) => status !== 'failed' && ['pause', 'resume', 'delete'].includes(call),
  )
  const asks = { paused: 'pause', deleted: 'delete', collected: 'delete', cancelled: 'cancel' }
  const asked = asks[job.state]
  if (asked !== undefined && !changing.some(({ call }) => call === asked))
    verdict.add('unasked', `${name} is ${job.state}, and nobody asked for that`)
  const last = changing.at(-1)
  if (last === undefined || last.status !== 'ok') return
  if (last.call === 'delete' && job.state !== 'deleted')
    verdict.add('lost_acknowledged', `${name} was deleted, and is ${job.state}`)
  if (last.call === 'pause' && !['paused', 'ended', 'deleted'].includes(job.state))
    verdict.add('lost_acknowledged', `${name} was paused, and is ${job.state}`)
  if (last.call === 'resume' && job.state === 'paused')
    verdict.add('lost_acknowledged', `${name} was resumed, and is paused`)
}

/**
 * The number that a quota is held against is never below what there is; whoever ended a job amid a count leaves it above.
 * @param {{ tenant: number, jobs: number, live: number }[]} tenants
 */
export function judgeCounts(tenants, verdict) {
  if (tenants.length === 0) verdict.add('no_evidence', 'no tenant has a number of jobs')
  for (const { tenant, jobs, live } of tenants)
    if (!(jobs >= live)) verdict.add('half_done', `tenant ${tenant} has ${live} jobs, and is counted ${jobs}`)
}

/** Answers that a server never gives, whatever is sent to it. */
export function judgeAnswers(calls, verdict) {
  for (const { call, name, code, error } of calls) {
    verdict.count('api_calls')
    if (code === 500) verdict.add('server_error', `${call} ${name}: ${code} ${error ?? ''}`)
  }
}
