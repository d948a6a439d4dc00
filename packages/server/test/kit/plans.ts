import type pg from 'pg'
import type { Planned, Statement } from '../../src/db/statement.js'
import type { Million } from './million.js'

/** A node of `EXPLAIN (FORMAT JSON)`, as far as it is looked at. */
export interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'Conflict Arbiter Indexes'?: string[]
  Plans?: PlanNode[]
}

export function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}

/** The plan for these very values, as a statement gets it that is planned for each call. */
export async function customPlan(session: pg.Client, text: string, values: unknown[]): Promise<PlanNode[]> {
  return planOf(await session.query(['EXPLAIN (FORMAT JSON)', text].join(' '), values))
}

/** The plan for any values: a connection may settle on it after some calls of a prepared statement, or has it from the first on. */
export async function genericPlan(
  session: pg.Client,
  { name, text, params }: Statement<never, object>,
  planned: Planned,
): Promise<PlanNode[]> {
  await session.query('SET plan_cache_mode = force_generic_plan')
  if (planned === 'once') await session.query('SET enable_seqscan = off')
  await session.query(['PREPARE', `"${name}"`, 'AS', text].join(' '))
  const nulls = params.length === 0 ? '' : `(${params.map(() => 'NULL').join(', ')})`
  const answer = await session.query(['EXPLAIN (FORMAT JSON) EXECUTE', `"${name}"${nulls}`].join(' '))
  await session.query(['DEALLOCATE', `"${name}"`].join(' '))
  await session.query('RESET plan_cache_mode')
  await session.query('RESET enable_seqscan')
  return planOf(answer)
}

function planOf(answer: pg.QueryResult): PlanNode[] {
  const [row] = answer.rows as { 'QUERY PLAN': { Plan: PlanNode }[] }[]
  return nodesOf((row?.['QUERY PLAN'][0] as { Plan: PlanNode }).Plan)
}

/** `-- @param name type` of a statement's file. */
export function paramTypes(source: string): [name: string, type: string][] {
  return [...source.matchAll(/^--[ \t]*@param[ \t]+(\w+)[ \t]+(\S+)[ \t]*$/gm)].map(([, name, type]) => [
    name as string,
    type as string,
  ])
}

const batch = 500

/** A value as a busy fleet would pass it: by name where the name says what it is, else by type. */
export function plausible(name: string, type: string, million: Million): unknown {
  if (type.endsWith('[]')) {
    const perPartition = /^(partitions|epochs|wanted|(from|after)_(starts|jobs))$/.test(name)
    const length = perPartition ? 86 : batch
    return Array.from({ length }, (_, n) =>
      one(name.replace(/s$/, ''), type.slice(0, -2), million, n, perPartition),
    )
  }
  return one(name, type, million, 0, false)
}

function one(name: string, type: string, million: Million, n: number, perPartition: boolean): unknown {
  // Spread over the table, so that neighbours are not on one page.
  const job = 1 + (((n + 63) * 7_919) % million.jobs)
  switch (type) {
    case 'bigint':
      if (/(^|_)job$/.test(name)) return job
      if (/^(incarnation|holder|owner)$/.test(name)) return million.incarnation
      if (name === 'epoch') return 7
      if (name === 'token' || name === 'replay') return n + 1
      if (name === 'to' || name === 'until') return million.now + 60_000
      if (name === 'since' || name === 'recorded_from') return million.now - 10_000
      return name.endsWith('_ms') ? 2_000 : million.now - n
    case 'int':
      return name === 'most' || name.startsWith('most_') ? batch : name === 'route' ? 1_001 : 1
    case 'smallint':
      return perPartition ? n * 3 : name.endsWith('partition') ? job % 256 : 1
    // Spread as the jobs are; where there is no such row, it is looked for all the same.
    case 'tid':
      return `(${Math.floor(job / 60)},${1 + (job % 60)})`
    case 'uuid':
      return job.toString(16).padStart(32, '0')
    case 'pg_snapshot':
      return '5:5:'
    case 'bytea':
      return Buffer.alloc(32, n)
    case 'boolean':
      return n % 2 === 0
    case 'float8':
      return 1
    // Text may be read as JSON.
    case 'text':
      if (name === 'state') return ['active', 'paused', 'ended', 'cancelled'][n % 4]
      return '{}'
    case 'jsonb':
      return '{}'
    default:
      throw new Error(
        `No value is known for the parameter ${name} of type ${type}: add one to ${import.meta.url}.`,
      )
  }
}
