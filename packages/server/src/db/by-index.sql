-- For the rest of the transaction: no table is read whole where an index can be used. The ledger's day of today has no
-- statistics yet, and without any the planner takes ledger_recorded for worthless. Takes no lock.
SELECT set_config('enable_seqscan', 'off', true)
