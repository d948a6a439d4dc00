/** A lane in which something may be leased, as lanes.sql found it. */
export interface Lane {
  route: number
  tenant: number
  priority: number
  /** The first instants; null where there is none. */
  ready: number | null
  waiting: number | null
  /** Its tenant or its host may start nothing now. */
  blocked: boolean
}

/** So many tenants and lanes are asked at least: others may be at the head of the same lane. */
const leastAsked = 20
/** A lane is looked into at least so deep. */
const leastDepth = 10
/** All lanes together are looked into for so many times as many runs as are wanted. */
const spareLooks = 4

export interface Asking {
  most: number
  now: number
  /** What one step of priority is worth. */
  stepMs: number
  spentBy: (tenant: number) => number
}

/**
 * The lanes that can have a part in the next `most` runs. Of tenants that have runs ready no more than `most`, those with
 * the smallest accounts: each has one at least, and the others come after all of them. Of each tenant no more lanes than
 * that. A lane in which runs only wait for a place may turn out to have none that can go, so it counts for nothing.
 */
export function lanesToAsk(lanes: readonly Lane[], { most, now, stepMs, spentBy }: Asking): Lane[] {
  const open = lanes.filter(({ blocked }) => !blocked)
  const asked = Math.max(most, leastAsked)
  if (open.length <= asked) return open
  const byTenant = new Map<number, { tenant: number; first: number; lanes: Lane[] }>()
  for (const lane of open) {
    if (lane.ready === null) continue
    const group = byTenant.get(lane.tenant) ?? { tenant: lane.tenant, first: lane.ready, lanes: [] }
    group.first = Math.min(group.first, lane.ready)
    group.lanes.push(lane)
    byTenant.set(lane.tenant, group)
  }
  const first = [...byTenant.values()]
    .sort((a, b) => spentBy(a.tenant) - spentBy(b.tenant) || a.first - b.first)
    .slice(0, asked)
  // As the statement orders a tenant's runs: what is due first.
  const early = ({ ready }: Lane) => Number((ready ?? 0) > now)
  const rank = ({ ready, priority }: Lane) => (ready ?? 0) - priority * stepMs
  const inOrder = (a: Lane, b: Lane) => early(a) - early(b) || rank(a) - rank(b)
  const ready = first.flatMap((group) => group.lanes.sort(inOrder).slice(0, asked))
  return [...ready, ...open.filter((lane) => lane.ready === null)]
}

/** How deep to look into each of so many lanes. A pass that gets too little by it is followed by one that looks deeper. */
export function depthFor(lanes: number, most: number): number {
  return Math.min(most, Math.max(leastDepth, Math.ceil((spareLooks * most) / Math.max(1, lanes))))
}
