-- A clean good-bye: nobody has to wait for this process to be found dead.
-- @param incarnation bigint
UPDATE carillon.incarnations
SET state = 'left', ended_at = carillon.now_ms()
WHERE incarnation = :incarnation AND state = 'alive'
RETURNING incarnation
