-- Sets what is given of a tenant's quotas and weight; what is not given stays as it is. Lock: the row. Index: tenants_name_key.
-- @param name text
-- @param changes jsonb
UPDATE carillon.tenants
SET max_jobs = CASE WHEN :changes ? 'max_jobs' THEN (:changes ->> 'max_jobs')::int ELSE max_jobs END,
    create_per_second = CASE WHEN :changes ? 'create_per_second' THEN (:changes ->> 'create_per_second')::float8
                             ELSE create_per_second END,
    min_interval_seconds = CASE WHEN :changes ? 'min_interval_seconds' THEN (:changes ->> 'min_interval_seconds')::int
                                ELSE min_interval_seconds END,
    weight = CASE WHEN :changes ? 'weight' THEN (:changes ->> 'weight')::int ELSE weight END,
    allow_commands = CASE WHEN :changes ? 'allow_commands' THEN (:changes ->> 'allow_commands')::boolean
                          ELSE allow_commands END
WHERE name = :name
RETURNING tenant
