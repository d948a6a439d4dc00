-- The definition of a version that is not the present one. Primary key.
-- @whole definition
-- @param tenant int
-- @param job bigint
-- @param version int
SELECT definition FROM carillon.job_versions WHERE tenant = :tenant AND job = :job AND version = :version
