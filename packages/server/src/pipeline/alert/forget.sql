-- Forgets alerts that were over long ago, with what was sent of them, and silences that have ended. A few at a time.
-- Index: alerts_old, alert_silences' primary key over few rows, job_health_old.
-- @param kept_ms bigint
-- @param most int
WITH old AS (
  DELETE FROM carillon.alerts
  WHERE alert IN (SELECT a.alert FROM carillon.alerts a WHERE a.resolved_at <= carillon.now_ms() - :kept_ms
                  ORDER BY a.resolved_at LIMIT :most)
  RETURNING alert
),
well AS (
  DELETE FROM carillon.job_health
  WHERE job IN (SELECT h.job FROM carillon.job_health h WHERE h.updated_at <= carillon.now_ms() - :kept_ms
                ORDER BY h.updated_at LIMIT :most)
  RETURNING job
),
ended AS (
  DELETE FROM carillon.alert_silences WHERE until <= carillon.now_ms() - 86400000 RETURNING silence
)
SELECT count(*)::int AS alerts FROM old
