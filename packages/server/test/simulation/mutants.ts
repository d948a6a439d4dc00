/**
 * Guards that can be taken out, to see that the checker misses them. Most are guards of statements, taken out of the simulated
 * store; `trust after a failed renewal` and `start before its time` are guards of the services, taken out beside them.
 */
export const mutants = [
  /** A fire is not refused under an old epoch. */
  'epoch unchecked',
  /** The epoch is read, not locked: a takeover does not wait for the fire, and the fire does not see it. */
  'epoch read without a lock',
  /** A result counts whoever sends it. */
  'token unchecked',
  /** Runs are taken back from whoever is silent, without declaring him dead. */
  'rescue of the living',
  /** The cursor is committed before the run is in the queue. */
  'cursor before the run',
  /** A process that could not renew goes on as if it had. */
  'trust after a failed renewal',
  'start before its time',
  /** A lease does not hold the row of its worker: it may follow the worker's death. */
  'lease without a hold on its worker',
  /** Two runs of a job can have one place. */
  'places not unique',
  /** A process that was declared dead lives on with its next heartbeat. */
  'the dead come back',
] as const
export type Mutant = (typeof mutants)[number]
