import { expect, test } from 'vitest'
import { Events } from '../../src/pipeline/alert/events.js'
import { LetterWatch } from '../../src/pipeline/intervene/letter-watch.js'
import { die, hands } from '../kit/letters.js'
import { Tenant } from '../kit/tenants.js'
import { silentLog } from '../kit/test-database.js'
import type { TestNode } from '../kit/test-house.js'
import { until } from '../kit/until.js'
import { useHouse } from '../kit/use-house.js'

const house = useHouse()

interface AlertRow {
  tenant: number
  kind: string
  fingerprint: string
  count: number
  subject: string
  detail: Record<string, unknown>
  resolved_at: number | null
}

function alerts(): Promise<AlertRow[]> {
  return house().query<AlertRow>('SELECT * FROM carillon.alerts ORDER BY alert')
}

/** One look, and what it says written down: so many events in all, so many of them open. */
async function look(node: TestNode, all: number, open: number): Promise<void> {
  const { database } = node
  const events = new Events({ database, log: silentLog })
  await new LetterWatch({
    database,
    raise: (event) => events.raise(event),
    resolve: (fingerprint, tenant) => events.resolve(fingerprint, tenant),
  }).runOnce()
  await until(`${all} events, ${open} open`, async () => {
    const rows = await alerts()
    return rows.length === all && rows.filter(({ resolved_at }) => resolved_at === null).length === open
  })
}

test('a job with dead letters raises one event, which says what failed and what to do; it is over when none is left', async () => {
  const node = await house().node()
  const job = await node.register()
  await look(node, 0, 0)
  const [first = '', second = ''] = await die(house(), node, job, [
    { error: 'disk full' },
    { error: 'no route' },
  ])
  await look(node, 1, 1)
  await look(node, 1, 1)
  expect(await alerts()).toMatchObject([
    {
      tenant: 1,
      kind: 'dead_letter',
      subject: `${job.name} has dead letters`,
      detail: {
        job_id: job.job_id,
        run_id: second,
        error: 'no route',
        todo: `carillon dead-letters list --job ${job.job_id}`,
      },
    },
  ])
  await hands(node).deadLetters.discard(1, first)
  await look(node, 1, 1)
  await hands(node).deadLetters.redrive(1, second, {})
  await look(node, 1, 0)
  // So soon after its end it is the same one.
  await die(house(), node, job)
  await look(node, 1, 1)
})

test('each job has an event of its own, in its tenant', async () => {
  const node = await house().node()
  const tenant = await Tenant.make(house())
  const [mine, theirs] = [await node.register(), await tenant.register(node)]
  await die(house(), node, mine)
  const [runId = ''] = await die(house(), node, theirs)
  await look(node, 2, 2)
  expect((await alerts()).map((row) => row.tenant).sort()).toEqual([1, tenant.key])
  await hands(node).deadLetters.discard(tenant.key, runId)
  await look(node, 2, 1)
  expect(await alerts()).toContainEqual(expect.objectContaining({ tenant: 1, resolved_at: null }))
})

test('a long error is cut short in the event, not in the letter', async () => {
  const node = await house().node()
  const [runId = ''] = await die(house(), node, await node.register(), [{ error: 'x'.repeat(3_000) }])
  await look(node, 1, 1)
  expect((await alerts())[0]?.detail['error']).toHaveLength(500)
  expect((await hands(node).deadLetters.get(1, runId)).error).toHaveLength(3_000)
})

test('of a great many jobs fifty have an event of their own, and the others one together, for as long as they have letters', async () => {
  const node = await house().node()
  const jobs = []
  for (let n = 0; n < 63; n++) jobs.push(await node.register())
  const [job = { key: 0 }] = jobs
  await die(house(), node, job)
  await house().query(
    `INSERT INTO carillon.dead_letters (due, job, origin, seq, tenant, route, version, epoch, attempts, round, catch_up, reason, dead_at,
                                        partition, max_attempts)
     SELECT d.due, j.job, d.origin, d.seq, j.tenant, d.route, 1, d.epoch, d.attempts, d.round, d.catch_up, d.reason, d.dead_at,
            j.partition, d.max_attempts
     FROM carillon.dead_letters d, carillon.jobs j WHERE j.job <> d.job`,
  )
  const many = async () => (await alerts()).filter(({ fingerprint }) => fingerprint === 'dead_letter:many')
  await look(node, 51, 51)
  await look(node, 51, 51)
  const [together] = await many()
  expect(together).toMatchObject({
    ...{ tenant: 1, kind: 'dead_letter', count: 1, subject: '13 more jobs have dead letters' },
    detail: { jobs: 13, todo: 'carillon dead-letters list' },
  })
  expect(together?.detail['examples']).toHaveLength(10)
  // One of the fifty is well: another takes its place, and they are twelve.
  await house().query('DELETE FROM carillon.dead_letters WHERE job = $1', [job.key])
  await look(node, 51, 50)
  await look(node, 52, 51)
  await until('it says so', async () => (await many())[0]?.detail['jobs'] === 12)
  await house().query(
    "UPDATE carillon.alerts SET resolved_at = carillon.now_ms(), resolved_by = 'ann' WHERE fingerprint = 'dead_letter:many'",
  )
  await look(node, 52, 50)
})
