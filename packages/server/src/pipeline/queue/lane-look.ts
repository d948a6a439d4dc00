import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import type { Clock } from '../../platform/clock.js'
import { type Look, Watermarks } from './watermarks.js'

interface LaneRow {
  now: number
  route: number
  tenant: number
  task: string
  /** The first that is due, and the first that is due and may take a place. */
  ready: number | null
  waiting: number | null
  /** How many are due, as far as was counted. */
  runs: number
  /** When the next one is due that is not. */
  next_at: number | null
}

const lookStatement = statement<
  {
    tenants: number[]
    tasks: string[]
    most: number
    from: number
    routes: number[]
    ready_froms: number[]
    waiting_froms: number[]
    freed: number[]
  },
  LaneRow
>(new URL('./look.sql', import.meta.url))

export interface TaskOfTenant {
  tenant: number
  task: string
}

/** Runs of one task that are due. A lease that begins at `look` finds them. */
export interface DueLane extends TaskOfTenant {
  route: number
  runs: number
  ready: number
  waiting: number
}

export interface Seen {
  lanes: DueLane[]
  /** In how many milliseconds the next run is due that is not; null where none is known. */
  nextInMs: number | null
  /** Jobs that gave a place back before this look. */
  freed: number[]
}

/** There is one holder as far as the watermarks are concerned: this process, for all who wait in it. */
const self = 1

/** Looks into the queue for all workers over HTTP that wait in this process. */
export class LaneLook {
  private readonly watermarks: Watermarks
  private known = new Set<string>()

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    this.watermarks = new Watermarks(clock)
  }

  lookFully(): void {
    this.watermarks.lookFully()
  }

  freed(job: number): void {
    this.watermarks.freed(job)
  }

  /** `most`: up to so many of each lane are counted. */
  async look(wanted: readonly TaskOfTenant[], most: number): Promise<Seen> {
    // Watermarks say nothing of a lane that the last look left out.
    if (wanted.some((lane) => !this.known.has(nameOf(lane)))) this.watermarks.lookFully()
    const look = this.watermarks.next(self)
    const sentAt = this.clock.monotonic()
    const rows = await this.database
      .run(lookStatement, {
        tenants: wanted.map(({ tenant }) => tenant),
        tasks: wanted.map(({ task }) => task),
        most,
        from: look.from,
        routes: look.routes,
        ready_froms: look.readyFroms,
        waiting_froms: look.waitingFroms,
        freed: look.freed,
      })
      .catch((error: unknown) => {
        this.watermarks.lookFully()
        throw error
      })
    const [first] = rows
    if (first !== undefined) {
      const found = rows.filter(({ ready, waiting }) => ready !== null || waiting !== null)
      this.watermarks.found(look, found, first.now, sentAt)
    }
    this.known = new Set(wanted.map(nameOf))
    const ahead = rows.flatMap(({ next_at, now }) => (next_at === null ? [] : [next_at - now]))
    return {
      lanes: rows.map(({ now, route, tenant, task, runs, ready, waiting }) => ({
        route,
        tenant,
        task,
        runs,
        ready: ready ?? now,
        waiting: waiting ?? now,
      })),
      nextInMs: ahead.length === 0 ? null : Math.min(...ahead),
      freed: look.freed,
    }
  }
}

/** Where a lease of these lanes begins to look: what was seen is there, and below it nothing was. */
export function lookAt(lanes: readonly DueLane[], freed: readonly number[]): Look {
  return {
    full: false,
    from: 0,
    routes: lanes.map(({ route }) => route),
    readyFroms: lanes.map(({ ready }) => ready),
    waitingFroms: lanes.map(({ waiting }) => waiting),
    freed: [...freed],
  }
}

function nameOf({ tenant, task }: TaskOfTenant): string {
  return `${tenant} ${task}`
}
