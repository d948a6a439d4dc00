-- Whether a job has all of these tags now. Plain read. Primary key.
-- @param tenant int
-- @param job bigint
-- @param tags text[]
SELECT coalesce(tags ?& :tags, false) AS tagged FROM carillon.jobs WHERE tenant = :tenant AND job = :job
