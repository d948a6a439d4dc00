-- Takes staged runs back and moves the cursors of jobs to where a change leaves them, with a record for every tick in
-- between: not run (`skip`), left out on request (`left_out`), or to be run by catching up (`replay`). Set-based: one job or a thousand.
-- Runs after lock-timer.sql and look-at-runs.sql, in their transaction: timers and runs are locked, and the values were
-- computed from what was seen under these locks. A run that somebody holds is never taken back.
-- `rev` is raised, so that a fire planned before is refused even where the due instant is the same.
-- Lock order: timers, queue. Index: timers' primary key, queue's primary key (job).
-- @plan each-time
-- @param now bigint
-- @param jobs bigint[]
-- @param partitions smallint[]
-- @param tenants int[]
-- @param versions int[]
-- @param taken_froms bigint[]
-- @param taken_counts int[]
-- @param accounted bigint[]
-- @param dues bigint[]
-- @param start_ats bigint[]
-- @param reasons text[]
-- @param skip_froms bigint[]
-- @param skip_tos bigint[]
-- @param skip_counts int[]
-- @param skip_nexts bigint[]
-- @param replay_froms bigint[]
-- @param replay_tos bigint[]
-- @param replay_counts int[]
-- @param replay_states text[]
-- @param left_out_jobs bigint[]
-- @param left_out_ats bigint[]
-- @param left_out_nexts bigint[]
WITH change AS MATERIALIZED (
  SELECT *
  FROM unnest(:jobs, :partitions, :tenants, :versions, :taken_froms, :taken_counts, :accounted, :dues, :start_ats,
              :reasons, :skip_froms, :skip_tos, :skip_counts, :skip_nexts, :replay_froms, :replay_tos, :replay_counts,
              :replay_states)
    AS c (job, partition, tenant, version, taken_from, taken_count, accounted, due, start_at,
          reason, skip_from, skip_to, skip_count, skip_next, replay_from, replay_to, replay_count,
          replay_state)
),
taken AS (
  DELETE FROM carillon.queue q
  USING change
  WHERE q.job = change.job AND q.origin = 0 AND q.due >= change.taken_from AND q.holder IS NULL
),
noted AS (
  INSERT INTO carillon.ledger (recorded_at, tenant, job, due, origin, seq, outcome, final, round, attempt, version,
                               epoch, next_due, due_to, ticks, reason, partition)
  SELECT :now, tenant, job, skip_from, 0, 0, 'skipped'::carillon.outcome, true, 0, 0, version,
         0, skip_next, nullif(skip_to, skip_from), skip_count, reason, partition
  FROM change
  WHERE skip_from IS NOT NULL
  UNION ALL
  SELECT :now, tenant, job, at, 0, 0, 'skipped', true, 0, 0, version,
         0, next, NULL, 1, 'skipped_by_request', partition
  FROM change JOIN unnest(:left_out_jobs, :left_out_ats, :left_out_nexts) AS left_out (job, at, next) USING (job)
),
replayed AS (
  INSERT INTO carillon.replays (tenant, job, kind, from_ms, to_ms, cursor_ms, total, version, reason, state, created_at,
                                partition)
  SELECT tenant, job, 'catch_up', replay_from, replay_to, replay_from, replay_count, version, reason, replay_state, :now,
         partition
  FROM change
  WHERE replay_from IS NOT NULL
)
UPDATE carillon.timers t
SET due = change.due, start_at = change.start_at, accounted_through = change.accounted, rev = t.rev + 1,
    runs = t.runs - change.taken_count + coalesce(change.replay_count, 0)
FROM change
WHERE t.job = change.job AND t.partition = change.partition
RETURNING t.job
