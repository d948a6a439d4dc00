import { CarillonError } from '@carillon/contract'
import { jobIdOf } from '../../platform/ids.js'
import type { Situation } from './change.js'

export function hasEnded({ uuid }: Pick<Situation, 'uuid'>): CarillonError {
  return new CarillonError('job_ended', { detail: `The job ${jobIdOf(uuid)} has ended: no tick is ahead.` })
}
