import type {
  CloseAnswer,
  CloseInput,
  DeadLetterDetail,
  DeadLetterFilter,
  DeadLetterGroupList,
  DeadLetterList,
  HeartbeatAnswer,
  HeartbeatInput,
  LeaseAnswer,
  LeaseInput,
  Redrive,
  RedriveFilter,
  RedriveInput,
  RedriveList,
  Run,
  RunDetail,
  RunList,
  RunStatus,
} from '@carillon/contract'
import type { PageQuery } from './page.js'

/** To which runs of a job a list is narrowed. Ticks from the one instant on, and before the other. */
export interface RunFilter {
  status?: RunStatus
  after?: string
  before?: string
}

export interface RunsPort {
  listByJob(
    tenant: number,
    jobId: string,
    query: PageQuery & RunFilter,
  ): Promise<{ runs: Run[]; next_cursor: string | null }>
  /** Of all jobs, or of the one that is named. */
  list(tenant: number, query: PageQuery & RunFilter & { job_id?: string; tags?: string[] }): Promise<RunList>
  get(tenant: number, runId: string): Promise<RunDetail>
  cancel(tenant: number, runId: string): Promise<RunDetail>
  retry(tenant: number, runId: string, input: RedriveInput): Promise<RunDetail>
}

/** What a stream of runs calls. `data` is a Run as JSON; an id says where to go on after it. */
export interface RunSink {
  onRuns: (events: { id: string; data: string }[], place: string) => void
  onGap: (gap: { from: string; to: string; reason: string }, place: string) => void
  onClosing: () => void
}

/** Runs as they begin and end, all over the fleet. */
export interface RunStreamPort {
  /** `from`: the id of the last event that the reader had. Refuses what it cannot stream, before anything is answered. */
  prepare(
    tenant: number,
    of: { jobId: string | null; from: string | null },
  ): Promise<{ start(sink: RunSink): () => void }>
}

/** Runs that used up their attempts, and their way back into the queue. */
export interface DeadLettersPort {
  list(
    tenant: number,
    query: PageQuery & Pick<DeadLetterFilter, 'job_id' | 'fingerprint'>,
  ): Promise<DeadLetterList>
  groups(tenant: number, query: Pick<DeadLetterFilter, 'job_id'>): Promise<DeadLetterGroupList>
  get(tenant: number, runId: string): Promise<DeadLetterDetail>
  redrive(tenant: number, runId: string, input: RedriveInput): Promise<RunDetail>
  discard(tenant: number, runId: string): Promise<void>
  discardMany(tenant: number, filter: DeadLetterFilter): Promise<number>
  startRedrive(tenant: number, filter: RedriveFilter): Promise<Redrive>
  listRedrives(tenant: number): Promise<RedriveList>
  getRedrive(tenant: number, redrive: number): Promise<Redrive>
  cancelRedrive(tenant: number, redrive: number): Promise<Redrive>
}

/** Workers over HTTP. */
export interface LeasesPort {
  /** `signal` aborts when the caller hung up before it had the whole answer. */
  lease(tenant: number, input: LeaseInput, signal: AbortSignal): Promise<LeaseAnswer>
  heartbeat(tenant: number, input: HeartbeatInput): Promise<HeartbeatAnswer>
  close(tenant: number, input: CloseInput): Promise<CloseAnswer>
}
