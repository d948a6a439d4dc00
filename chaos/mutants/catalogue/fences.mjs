// The two fences of the statements that fire, as they are taken away: several mutants need one or the other gone.

const firing = 'server/dist/pipeline/fire'

/** In whichever statement: the partitions are taken as the caller names them, with the epoch that he believes in. */
const ownedByEpoch = {
  from: `  SELECT p.partition, p.epoch
  FROM carillon.partitions p
  JOIN unnest(:partitions, :epochs) AS held (partition, epoch) USING (partition, epoch)
  WHERE p.owner = :owner
`,
  to: `  SELECT p.partition, held.epoch
  FROM carillon.partitions p
  JOIN unnest(:partitions, :epochs) AS held (partition, epoch) USING (partition)
  WHERE :owner IS NOT NULL
`,
}

/** A write under an old epoch passes, and says under which epoch it was made. */
export const withoutEpochCheck = [
  { file: `${firing}/fire.sql`, ...ownedByEpoch },
  { file: `${firing}/overlap.sql`, ...ownedByEpoch },
  { file: `${firing}/replay.sql`, ...ownedByEpoch },
  {
    file: `${firing}/fire-plain.sql`,
    from: `  SELECT p.partition, p.epoch, clock.lock_timeout
  FROM carillon.partitions p
  JOIN unnest(:partitions, :epochs) AS held (partition, epoch) USING (partition, epoch)
  CROSS JOIN clock
  WHERE p.owner = :owner
`,
    to: `  SELECT p.partition, held.epoch, clock.lock_timeout
  FROM carillon.partitions p
  JOIN unnest(:partitions, :epochs) AS held (partition, epoch) USING (partition)
  CROSS JOIN clock
  WHERE :owner IS NOT NULL
`,
  },
]

/** A tick is fired though the cursor has passed it: neither its due nor its rev is compared with what was seen. */
export const withoutCursorCheck = [
  {
    file: `${firing}/fire.sql`,
    from: `    WHERE timers.partition = tick.partition AND timers.start_at IS NOT NULL
      AND (timers.start_at, timers.job) >= (tick.start_at, tick.job)
      AND (timers.start_at, timers.job) <= (tick.start_at, tick.job)
`,
    to: `    WHERE timers.partition = tick.partition AND timers.job = tick.job
`,
  },
  {
    file: `${firing}/fire.sql`,
    from: 'timers.ctid = seen.place AND timers.job = tick.job AND timers.due = tick.due AND timers.rev = tick.rev',
    to: 'timers.ctid = seen.place AND timers.job = tick.job',
  },
  {
    file: `${firing}/fire-plain.sql`,
    from: 'timer.ctid = tick.place AND timer.job = tick.job AND timer.due = tick.due AND timer.rev = tick.rev',
    to: 'timer.job = tick.job',
  },
]
