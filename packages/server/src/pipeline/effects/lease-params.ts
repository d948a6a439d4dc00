import type { LeasedRun } from '../run.js'

/** What names one lease of one run. */
export interface LeaseParams {
  holder: number
  due: number
  job: number
  origin: number
  seq: number
  partition: number
  token: number
}

export function leaseParams({ holder, due, job, origin, seq, partition, token }: LeasedRun): LeaseParams {
  return { holder, due, job, origin, seq, partition, token }
}
