import type { RedriveInput, Run, RunDetail, RunListQuery, RunList } from '@carillon/contract'
import { type CallApi, pages, pathTo } from './paths.js'
import { type RunEvent, type StreamOptions, streamRuns } from './run-stream.js'
import type { TransportOptions } from './transport.js'

export interface RunCalls {
  readonly runs: {
    /** Across jobs, the newest first. One page; pass its `next_cursor` for the next one. */
    list(query?: RunListQuery & { cursor?: string }): Promise<RunList>
    iterate(query?: RunListQuery): AsyncGenerator<Run, void, undefined>
    /**
     * Every change of a run as it happens: `for await (const { run } of client.runs.stream())`. A break is mended, without a
     * gap, from the last event that was seen.
     */
    stream(options?: StreamOptions): AsyncGenerator<RunEvent, void, undefined>
    /** One run, with all of its attempts. */
    get(runId: string): Promise<RunDetail>
    /** One that waits ends at once; one under way is asked to stop. Its status says which it was. */
    cancel(runId: string): Promise<RunDetail>
    /** Runs a dead run once more: the same as re-driving its dead letter. */
    retry(runId: string, input?: RedriveInput): Promise<RunDetail>
  }
}

const runsPath = '/api/v1/runs'

export function runCalls(call: CallApi, transport: TransportOptions): RunCalls {
  const pathOf = (id: string) =>
    pathTo(runsPath, id, 'a run id. Ids look like run_… and are given by the server')
  const list: RunCalls['runs']['list'] = (query = {}) =>
    call<RunList>({ method: 'GET', path: runsPath, query: { ...query } })
  return {
    runs: {
      list,
      iterate: (query = {}) => pages(list, query),
      stream: (options) => streamRuns(transport, options),
      get: async (id) => await call<RunDetail>({ method: 'GET', path: pathOf(id) }),
      cancel: async (id) => await call<RunDetail>({ method: 'POST', path: `${pathOf(id)}/cancel`, body: {} }),
      retry: async (id, input = {}) =>
        await call<RunDetail>({ method: 'POST', path: `${pathOf(id)}/retry`, body: input }),
    },
  }
}
