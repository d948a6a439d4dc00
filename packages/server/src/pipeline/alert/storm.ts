import { type AlertKind, alertKinds } from '@carillon/contract'
import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Finding } from './finding.js'

const openStatement = statement<
  { tenants: number[]; kinds: string[]; fingerprints: string[] },
  { tenant: number; kind: string; open: number; known: string[] }
>(new URL('./open-of-kinds.sql', import.meta.url))

/** So many jobs of a tenant have an alert of their own of one kind; the others are one alert together. */
export const mostOfAKind = 50
const examples = 10

/**
 * An outage touches every job. People are told of the first ones by name, and of the rest as one: a thousand messages tell nobody
 * anything. An alert that is open already stays the job's own.
 */
export async function gathered(runner: Runner, findings: readonly Finding[]): Promise<Finding[]> {
  const groups = new Map<string, Finding[]>()
  const single: Finding[] = []
  for (const finding of findings) {
    if (finding.job == null || finding.tenant === null) single.push(finding)
    else put(groups, `${finding.tenant} ${finding.kind}`, finding)
  }
  const crowded = [...groups.values()]
  if (crowded.length === 0) return single
  const rows = await runner.run(openStatement, {
    tenants: [...new Set(crowded.flatMap(([first]) => first?.tenant ?? []))],
    kinds: [...new Set(crowded.flatMap(([first]) => first?.kind ?? []))],
    fingerprints:
      crowded.length > 1_000
        ? []
        : crowded
            .flat()
            .slice(0, 5_000)
            .map(({ fingerprint }) => fingerprint),
  })
  const open = new Map(rows.map((row) => [`${row.tenant} ${row.kind}`, row]))
  for (const [key, group] of groups) single.push(...gather(group, open.get(key)))
  return single
}

function gather(group: Finding[], open: { open: number; known: string[] } | undefined): Finding[] {
  const known = new Set(open?.known ?? [])
  const again = group.filter(({ fingerprint }) => known.has(fingerprint))
  const fresh = group.filter(({ fingerprint }) => !known.has(fingerprint))
  const room = Math.max(0, mostOfAKind - (open?.open ?? 0))
  const rest = fresh.slice(room)
  const [first] = rest
  if (first === undefined) return group
  return [...again, ...fresh.slice(0, room), together(rest, first)]
}

function together(rest: Finding[], { tenant, kind, severity }: Finding): Finding {
  return {
    tenant,
    kind,
    severity,
    fingerprint: `${kind}:many`,
    subject: `${rest.length} more jobs: ${wordsOf(kind)}`,
    detail: {
      jobs: rest.length,
      examples: rest.slice(0, examples).map(({ subject, detail }) => ({ job_id: detail['job_id'], subject })),
    },
    found: rest.length,
  }
}

function wordsOf(kind: AlertKind): string {
  return alertKinds[kind].raised
}

function put<Item>(groups: Map<string, Item[]>, key: string, item: Item): void {
  const group = groups.get(key)
  if (group === undefined) groups.set(key, [item])
  else group.push(item)
}
