import type { Client } from 'pg'
import { seedOwner } from './options.js'
import { transaction } from './transaction.js'

const perChunk = 1_000

const notCollected = "('active', 'paused', 'ended', 'cancelled')"
const countSeeds = `
SELECT t.tenant, count(*)::int AS jobs
FROM carillon.tenants t
JOIN carillon.jobs j ON j.tenant = t.tenant AND j.managed_by = $1 AND j.state IN ${notCollected}
WHERE $2::text IS NULL OR t.name = $2
GROUP BY t.tenant ORDER BY t.tenant`
const nextSeeds = `
SELECT job FROM carillon.jobs
WHERE tenant = $1 AND managed_by = $2 AND state IN ${notCollected} AND job > $3
ORDER BY job LIMIT $4`

// In the order in which everybody locks: timers, queue, jobs, then the counters. Each by an index that begins with the job.
const steps = [
  'DELETE FROM carillon.timers WHERE job = ANY ($1)',
  `WITH gone AS (
     DELETE FROM carillon.queue WHERE job = ANY ($1) RETURNING tenant, route, holder
   ), slots AS (
     UPDATE carillon.tenant_slots s SET taken = greatest(s.taken - held.runs, 0)
     FROM (SELECT tenant, count(*) AS runs FROM gone WHERE holder IS NOT NULL GROUP BY tenant) held
     WHERE s.tenant = held.tenant
   )
   UPDATE carillon.targets t SET in_use = greatest(t.in_use - held.runs, 0)
   FROM (SELECT r.tenant, r.name, count(*) AS runs FROM gone JOIN carillon.routes r USING (route)
         WHERE gone.holder IS NOT NULL AND r.kind = 'http' GROUP BY r.tenant, r.name) held
   WHERE t.tenant = held.tenant AND t.host = held.name AND t.max_concurrent IS NOT NULL`,
  "DELETE FROM carillon.replays WHERE job = ANY ($1) AND state IN ('running', 'paused')",
  'DELETE FROM carillon.dead_letters WHERE job = ANY ($1)',
  'DELETE FROM carillon.tick_changes WHERE job = ANY ($1)',
  'DELETE FROM carillon.segments WHERE job = ANY ($1)',
  'DELETE FROM carillon.job_versions WHERE job = ANY ($1)',
]
// What ran has a history, which stays with the name of its job as that of every deleted one does, and goes with its days.
// The trigger of the counter counts those; the others are counted here.
const collect = `
UPDATE carillon.jobs j
SET state = 'collected', definition = NULL, ended_at = carillon.now_ms(), updated_at = carillon.now_ms(),
    changed_at = carillon.now_ms(), paused_at = NULL, pause_reason = NULL, paused_until = NULL
WHERE j.job = ANY ($1) AND EXISTS (SELECT FROM carillon.ledger l WHERE l.job = j.job)`
const forget = `
WITH gone AS (
  DELETE FROM carillon.jobs WHERE job = ANY ($1) AND state <> 'collected' RETURNING state
)
UPDATE carillon.tenant_jobs
SET jobs = greatest(0, jobs - (SELECT count(*) FROM gone WHERE state IN ('active', 'paused')))
WHERE tenant = $2`

/** The seeds of each tenant that has some, or of the tenant of a name. */
export async function seedsOf(
  client: Client,
  tenantName: string | null,
): Promise<{ tenant: number; jobs: number }[]> {
  const { rows } = await client.query<{ tenant: number; jobs: number }>(countSeeds, [seedOwner, tenantName])
  return rows
}

/** Takes the seeds of a tenant away. No server may use the database meanwhile: a worker could hold a run of theirs. */
export async function removeSeeds(
  client: Client,
  tenant: number,
  onRemoved: (jobs: number) => void,
): Promise<number> {
  let removed = 0
  let after = '0'
  await transaction(client, () => note(client, tenant))
  for (;;) {
    const { rows } = await client.query<{ job: string }>(nextSeeds, [tenant, seedOwner, after, perChunk])
    const last = rows.at(-1)
    if (last === undefined) return removed
    const jobs = rows.map(({ job }) => job)
    await transaction(client, async () => {
      for (const step of steps) await client.query(step, [jobs])
      await client.query(collect, [jobs])
      await client.query(forget, [jobs, tenant])
    })
    after = last.job
    removed += jobs.length
    onRemoved(removed)
  }
}

async function note(client: Client, tenant: number): Promise<void> {
  await client.query(
    `INSERT INTO carillon.audit_log (tenant, actor, action, subject, request_id)
     VALUES ($1, 'local', 'removeSeed', $2, 'database')`,
    [tenant, seedOwner],
  )
}
