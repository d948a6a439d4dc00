-- Waits for leases and closes in progress, and lets none begin, until this transaction ends: the first count of the runs at a
-- host must miss none of them. Rare, and short. Lock: the queue, before targets, as everywhere.
SELECT carillon.hold_queue()
