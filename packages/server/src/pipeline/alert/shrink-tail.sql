-- A look at the tail failed: the next one takes half as much, so that one that was too long for a statement gets through in the end.
-- Lock: the one row.
UPDATE carillon.alert_watch SET slice_ms = greatest(slice_ms / 2, 1)
RETURNING slice_ms
