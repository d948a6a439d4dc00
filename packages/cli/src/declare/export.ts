import type { Job } from '@carillon/sdk'
import { stringify } from 'yaml'
import { concise, definitionOf } from './complete.js'

/** A job as a file declares it. */
export function exported(job: Job): Record<string, unknown> {
  const fields = concise(definitionOf(job))
  // The database keeps names in an order of its own.
  if (fields['target'] !== undefined) fields['target'] = { ...{ type: job.target.type }, ...job.target }
  return { ...fields, ...(job.state === 'paused' && { paused: true }) }
}

export function exportText(jobs: readonly Job[]): string {
  // Anchors would be shorter and harder to edit; lines are left as long as they are.
  return stringify({ jobs: jobs.map(exported) }, { lineWidth: 0, aliasDuplicateObjects: false })
}
