import type {
  Brake,
  BrakeInput,
  BrakeState,
  ClusterView,
  Event,
  EventList,
  Verification,
} from '@carillon/contract'
import type { Call } from './transport.js'

export interface VerifyOptions {
  /** The first instant, ISO-8601; UTC where it has no offset. */
  from: string
  /** The first instant that does not belong to the range; now where it is left out. */
  to?: string
  /** Only this job. */
  jobId?: string
  /** Told after every part of a long verification, with the numbers so far. */
  onProgress?: (soFar: Verification) => void
}

export interface AccountCalls {
  /** Compares the ticks that schedules name in a range with what is on record. Asks until all parts are there. */
  verify(options: VerifyOptions): Promise<Verification>
  /** The fleet at one moment. */
  cluster(): Promise<ClusterView>
  /** Those that go on first, then the latest. */
  events(options?: { state?: 'open' | 'all'; limit?: number }): Promise<Event[]>
  readonly brake: {
    /** Null where none is in force. */
    get(): Promise<Brake | null>
    set(input: BrakeInput): Promise<Brake>
    clear(): Promise<void>
  }
}

export function accountCalls(call: <T>(what: Call) => Promise<T>): AccountCalls {
  return {
    async verify({ from, to, jobId, onProgress }) {
      const path = '/api/v1/verify'
      const ask = (query: NonNullable<Call['query']>) => call<Verification>({ method: 'GET', path, query })
      let sum = await ask({ from, to, job_id: jobId })
      while (sum.next_cursor !== null) {
        onProgress?.(sum)
        // As answered: "now" must not move on from one part to the next.
        const part = await ask({ from: sum.from, to: sum.to, job_id: jobId, cursor: sum.next_cursor })
        sum = addUp(sum, part)
      }
      return sum
    },
    cluster: () => call<ClusterView>({ method: 'GET', path: '/api/v1/cluster' }),
    events: async (query = {}) =>
      (await call<EventList>({ method: 'GET', path: '/api/v1/events', query })).data,
    brake: {
      get: async () => (await call<BrakeState>({ method: 'GET', path: brakePath })).brake,
      set: (input) => call<Brake>({ method: 'PUT', path: brakePath, body: input }),
      async clear() {
        await call({ method: 'DELETE', path: brakePath })
      },
    },
  }
}

const brakePath = '/api/v1/brake'
const mostFindings = 100

/** The numbers of two parts of one verification. */
function addUp(before: Verification, part: Verification): Verification {
  const reasons = { ...before.skipped_by_reason }
  for (const [reason, ticks] of Object.entries(part.skipped_by_reason))
    reasons[reason] = (reasons[reason] ?? 0) + ticks
  const counts = Object.entries(part).flatMap(([name, value]) =>
    typeof value === 'number' ? [[name, value + Number(before[name as keyof Verification])] as const] : [],
  )
  return {
    ...before,
    ...(Object.fromEntries(counts) as Partial<Verification>),
    skipped_by_reason: reasons,
    findings: [...before.findings, ...part.findings].slice(0, mostFindings),
    notes: [...new Set([...before.notes, ...part.notes])],
    next_cursor: part.next_cursor,
  }
}
