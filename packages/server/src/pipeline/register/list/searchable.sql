-- Whether there is an index for contains-search: not where pg_trgm could not be created.
SELECT to_regclass('carillon.jobs_name_search') IS NOT NULL AS searchable
