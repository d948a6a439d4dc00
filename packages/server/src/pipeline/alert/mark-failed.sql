-- A channel did not take a notification: it is tried again later, and given up when it is too old: since it was decided
-- on, or since it was last taken where it is told again and again. By the claim, as in mark-delivered.sql.
-- Lock: the rows. Index: primary keys.
-- @param notification bigint
-- @param claimed_until bigint
-- @param wait_ms bigint
-- @param most_ms bigint
-- @param error text
WITH marked AS (
  UPDATE carillon.alert_notifications n
  SET error = :error, claimed_until = 0,
      next_at = CASE WHEN greatest(n.created_at, coalesce(n.delivered_at, 0)) > carillon.now_ms() - :most_ms THEN carillon.now_ms() + :wait_ms END,
      given_up_at = CASE WHEN greatest(n.created_at, coalesce(n.delivered_at, 0)) > carillon.now_ms() - :most_ms THEN NULL ELSE carillon.now_ms() END
  WHERE n.notification = :notification AND n.claimed_until = :claimed_until
  RETURNING n.channel, n.given_up_at IS NOT NULL AS given_up
)
UPDATE carillon.alert_channels c
SET delivered_at = carillon.now_ms(), delivered_ok = false, delivered_error = :error, failures = c.failures + 1
FROM marked
WHERE c.channel = marked.channel
RETURNING c.failures, marked.given_up
