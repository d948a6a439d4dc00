-- Re-drives that go on. Plain read of a few rows. Index: redrives_going.
SELECT redrive, tenant, state FROM carillon.redrives WHERE ended_at IS NULL ORDER BY redrive
