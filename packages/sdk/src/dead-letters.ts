import type {
  DeadLetter,
  DeadLetterDetail,
  DeadLetterFilter,
  DeadLetterGroup,
  DeadLetterGroupList,
  DeadLetterList,
  Discarded,
  Redrive,
  RedriveFilter,
  RedriveInput,
  RedriveList,
  RunDetail,
} from '@carillon/contract'
import type { Call } from './transport.js'

export interface DeadLetterQuery {
  job_id?: string
  fingerprint?: string
  limit?: number
}

export interface DeadLetterCalls {
  readonly deadLetters: {
    /** One page, the latest first; pass its `next_cursor` for the next one. */
    list(query?: DeadLetterQuery & { cursor?: string }): Promise<DeadLetterList>
    /** All of them, page by page as they are asked for. */
    iterate(query?: DeadLetterQuery): AsyncGenerator<DeadLetter, void, undefined>
    /** By what their errors say, the largest group first. */
    groups(query?: { job_id?: string }): Promise<DeadLetterGroup[]>
    get(runId: string): Promise<DeadLetterDetail>
    /** Back into the queue, with its tick and its idempotency key. `payload`: for this run alone. */
    redrive(runId: string, input?: RedriveInput): Promise<RunDetail>
    discard(runId: string): Promise<void>
    /** Discards all that match; answers how many. At least one field is needed. */
    discardAll(filter: DeadLetterFilter): Promise<number>
    /** Begins to re-drive all that match, at a pace, in the background. */
    redriveAll(filter?: RedriveFilter): Promise<Redrive>
  }
  readonly redrives: {
    list(): Promise<Redrive[]>
    get(redrive: number): Promise<Redrive>
    /** What is back in the queue stays there. */
    cancel(redrive: number): Promise<Redrive>
  }
}

const lettersPath = '/api/v1/dead-letters'
const redrivesPath = '/api/v1/redrives'

export function deadLetterCalls(call: <T>(what: Call) => Promise<T>): DeadLetterCalls {
  const list: DeadLetterCalls['deadLetters']['list'] = (query = {}) =>
    call<DeadLetterList>({ method: 'GET', path: lettersPath, query: { ...query } })
  return {
    deadLetters: {
      list,
      async *iterate(query = {}) {
        let cursor: string | null | undefined
        do {
          const { data, next_cursor } = await list(cursor ? { ...query, cursor } : query)
          yield* data
          cursor = next_cursor
        } while (cursor)
      },
      groups: async (query = {}) =>
        (
          await call<DeadLetterGroupList>({
            method: 'GET',
            path: `${lettersPath}/groups`,
            query: { ...query },
          })
        ).data,
      get: async (id) => await call<DeadLetterDetail>({ method: 'GET', path: pathOf(lettersPath, id) }),
      redrive: async (id, input = {}) =>
        await call<RunDetail>({ method: 'POST', path: `${pathOf(lettersPath, id)}/redrive`, body: input }),
      async discard(id) {
        await call({ method: 'DELETE', path: pathOf(lettersPath, id) })
      },
      discardAll: async (filter) =>
        (await call<Discarded>({ method: 'DELETE', path: lettersPath, query: { ...filter } })).discarded,
      redriveAll: (filter = {}) =>
        call<Redrive>({ method: 'POST', path: `${lettersPath}/redrive`, body: filter }),
    },
    redrives: {
      list: async () => (await call<RedriveList>({ method: 'GET', path: redrivesPath })).data,
      get: (redrive) => call<Redrive>({ method: 'GET', path: `${redrivesPath}/${redrive}` }),
      cancel: (redrive) =>
        call<Redrive>({ method: 'POST', path: `${redrivesPath}/${redrive}/cancel`, body: {} }),
    },
  }
}

function pathOf(parent: string, runId: string): string {
  // As a path segment an empty id, "." or ".." would address something else than a run.
  if (/^\.{0,2}$/.test(runId))
    throw new TypeError(`"${runId}" is not a run id. Ids look like run_… and are given by the server.`)
  return `${parent}/${encodeURIComponent(runId)}`
}
