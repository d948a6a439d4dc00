-- Every partition, its owner where that is alive and its lease has not expired, and the earliest start in it that is due
-- and was not fired yet. Plain read: 256 rows, one look into the index for each. Index: timers_start.
SELECT p.partition, p.epoch,
       CASE WHEN i.state = 'alive' AND p.expires_at > carillon.now_ms() THEN p.owner END AS owner,
       CASE WHEN p.owner IS NOT NULL THEN p.expires_at - carillon.now_ms() END AS expires_in_ms,
       oldest.start_at AS oldest_due
FROM carillon.partitions p
LEFT JOIN carillon.incarnations i ON i.incarnation = p.owner
LEFT JOIN LATERAL (
  SELECT t.start_at
  FROM carillon.timers t
  WHERE t.partition = p.partition AND t.start_at <= carillon.now_ms()
  ORDER BY t.start_at
  LIMIT 1
) oldest ON true
ORDER BY p.partition
