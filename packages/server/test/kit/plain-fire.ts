import { parseStatement } from '../../src/db/statement.js'
import { firePlainStatement, type plainParams } from '../../src/pipeline/fire/fire-plain.js'
import type { TestNode } from './test-house.js'
import { until } from './until.js'
import type { House } from './use-house.js'

export type PlainParams = ReturnType<typeof plainParams>

interface Lying {
  place: string
  job: number
  partition: number
  epoch: number
  due: number
  rev: number
  version: number
  route: number
}

/** How far apart the ticks lie that are fired by hand. */
export const stepMs = 10_000

/** What the owner would send to fire the next ticks of these jobs by the short way; leased to nobody, unless told otherwise. */
export async function plainly(
  house: House,
  node: TestNode,
  jobs: readonly { key: number }[],
  change: Partial<PlainParams> = {},
): Promise<PlainParams> {
  const timers = await house.query<Lying>(
    `SELECT t.ctid::text AS place, t.job, t.partition, p.epoch, t.due, t.rev, j.version, j.route
     FROM carillon.timers t JOIN carillon.jobs j USING (job) JOIN carillon.partitions p ON p.partition = t.partition
     WHERE t.job = ANY ($1) ORDER BY t.job`,
    [jobs.map(({ key }) => key)],
  )
  const partitions = await house.query<{ partition: number; epoch: number }>(
    'SELECT partition, epoch FROM carillon.partitions ORDER BY partition',
  )
  return {
    owner: node.membership.incarnation,
    partitions: partitions.map(({ partition }) => partition),
    epochs: partitions.map(({ epoch }) => epoch),
    timer_places: timers.map(({ place }) => place),
    jobs: timers.map(({ job }) => job),
    job_partitions: timers.map(({ partition }) => partition),
    job_epochs: timers.map(({ epoch }) => epoch),
    dues: timers.map(({ due }) => due),
    revs: timers.map(({ rev }) => rev),
    available_ats: timers.map(({ due }) => due),
    next_dues: timers.map(({ due }) => due + stepMs),
    next_starts: timers.map(({ due }) => due + stepMs),
    versions: timers.map(({ version }) => version),
    routes: timers.map(({ route }) => route),
    places: timers.map(() => 1),
    max_attempts: timers.map(() => 4),
    holder: null,
    tasks: [],
    commands: false,
    ...change,
  }
}

/** Sends it, and answers the columns that came back. */
export async function firePlainly(node: TestNode, params: PlainParams) {
  const [answer] = await node.database.run(firePlainStatement, params)
  if (answer === undefined) throw new Error('The short statement answered nothing.')
  return answer
}

/** The names of the statements that a node sends from here on. */
export function sentBy(node: TestNode): string[] {
  const sent: string[] = []
  const { database } = node
  const run = database.run.bind(database)
  database.run = (statement, params) => {
    sent.push(statement.name.replace(/_[0-9a-f]{8}$/, ''))
    return run(statement, params)
  }
  return sent
}

/** Waits until so many sessions wait for a lock, or the work has ended: such waits are short, and may be over before anybody looks. */
export async function waitsOrEnds(house: House, count: number, work: Promise<unknown>): Promise<void> {
  let ended = false
  const end = () => {
    ended = true
  }
  work.then(end, end)
  await until(`${count} sessions wait for a lock`, async () => ended || (await house.lockWaiters()) === count)
}

const settingStatement = parseStatement<object, { lock_timeout: string }>(
  'setting.sql',
  "SELECT current_setting('lock_timeout') AS lock_timeout, pg_sleep(0.05)",
)

/** What holds for the connections of a node's pool: at once, so that each of them is asked. */
export async function lockTimeoutsOf(node: TestNode): Promise<string[]> {
  const asked = Array.from({ length: 5 }, () => node.database.run(settingStatement, {}))
  return [...new Set((await Promise.all(asked)).flat().map((row) => row.lock_timeout))]
}
