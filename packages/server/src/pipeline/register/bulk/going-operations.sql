-- Operations that go on. Plain read of a few rows. Index: operations_going.
SELECT operation FROM carillon.operations WHERE state = 'running' ORDER BY operation
