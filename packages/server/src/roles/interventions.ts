import { CarillonError } from '@carillon/contract'
import type { DeadLettersPort, RunsPort } from '../http/api.js'
import { Cancelling } from '../pipeline/intervene/cancelling.js'
import { DeadLetters } from '../pipeline/intervene/dead-letters.js'
import { Redrives } from '../pipeline/intervene/redrives.js'
import { RunDetails } from '../pipeline/record/run-details.js'
import type { Context } from './context.js'

export interface Interventions {
  runs: Pick<RunsPort, 'get' | 'cancel' | 'retry'>
  deadLetters: DeadLettersPort
}

const endings: Readonly<Record<string, string>> = {
  success: 'succeeded',
  skipped: 'was skipped',
  cancelled: 'was cancelled',
}

/** What people do with single runs and with dead letters. */
export function composeInterventions(
  { database }: Pick<Context, 'database'>,
  ports: { jobOf: (tenant: number, jobId: string) => Promise<number>; onRedriven?: () => void },
): Interventions {
  const { jobOf, ...hints } = ports
  const letters = new DeadLetters({ database, ...hints })
  const redrives = new Redrives(database)
  const cancelling = new Cancelling(database)
  const details = new RunDetails(database)
  const keyOf = async (tenant: number, jobId: string | undefined) =>
    jobId === undefined ? null : jobOf(tenant, jobId)
  const redrive: DeadLettersPort['redrive'] = async (tenant, runId, input) => {
    await letters.redrive(tenant, runId, input)
    return details.get(tenant, runId)
  }
  return {
    runs: {
      get: (tenant, runId) => details.get(tenant, runId),
      async cancel(tenant, runId) {
        const answer = await cancelling.cancel(tenant, runId)
        const run = await details.get(tenant, runId)
        if (answer !== null) return run
        throw new CarillonError('run_ended', {
          detail: `The run has ended already: it ${endings[run.status] ?? `is ${run.status}`}.`,
        })
      },
      async retry(tenant, runId, input) {
        const run = await details.get(tenant, runId)
        return redrive(tenant, runId, input).catch((error: unknown) => {
          if (!(error instanceof CarillonError) || error.code !== 'dead_letter_not_found') throw error
          throw new CarillonError('run_not_dead', {
            detail: `The run is no dead letter: its status is ${run.status}.`,
          })
        })
      },
    },
    deadLetters: {
      async list(tenant, { job_id: jobId, fingerprint = null, ...page }) {
        return letters.list(tenant, { ...page, fingerprint, job: await keyOf(tenant, jobId) })
      },
      groups: async (tenant, { job_id: jobId }) => letters.groups(tenant, await keyOf(tenant, jobId)),
      async get(tenant, runId) {
        const letter = await letters.get(tenant, runId)
        return { ...letter, history: await details.attempts(tenant, runId) }
      },
      redrive,
      discard: (tenant, runId) => letters.discard(tenant, runId),
      discardMany: async (tenant, filter) =>
        letters.discardMany(tenant, filter, await keyOf(tenant, filter.job_id)),
      startRedrive: async (tenant, filter) =>
        redrives.start(tenant, filter, await keyOf(tenant, filter.job_id)),
      listRedrives: (tenant) => redrives.list(tenant),
      getRedrive: (tenant, number) => redrives.get(tenant, number),
      cancelRedrive: (tenant, number) => redrives.cancel(tenant, number),
    },
  }
}
