import { CarillonError } from '@carillon/contract'
import { type RunIdentity, runIdentityOf } from '../../platform/ids.js'

/** The largest int of the database: an id that names more was not given by this server. */
const mostSeq = 2 ** 31 - 1

/** What a run's id says. An id that cannot be one names no run, which is all that its owner needs to know. */
export function identityOf(
  runId: string,
  missing: 'run_not_found' | 'dead_letter_not_found',
): Pick<RunIdentity, 'due' | 'job' | 'origin' | 'seq' | 'partition'> {
  const identity = runIdentityOf(runId)
  if (identity === null || identity.seq > mostSeq) throw notFound(missing, runId)
  return identity
}

export function notFound(code: 'run_not_found' | 'dead_letter_not_found', runId: string): CarillonError {
  const what = code === 'run_not_found' ? 'run' : 'dead letter'
  return new CarillonError(code, { detail: `There is no ${what} ${JSON.stringify(runId)}.` })
}
