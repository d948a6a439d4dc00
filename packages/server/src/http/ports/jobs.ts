import type {
  Backfill,
  BackfillInput,
  BackfillList,
  BackfillPlan,
  Calendar,
  CalendarInput,
  CancelJobInput,
  CarillonError,
  ExplainInput,
  Job,
  JobDryRun,
  JobFilter,
  JobInput,
  JobPatch,
  JobVersion,
  JobVersionList,
  LoadForecast,
  LoadSuggestion,
  MoveInput,
  OnConflict,
  Operation,
  OperationInput,
  OperationList,
  OperationPreview,
  PauseInput,
  PreviewInput,
  RestoreInput,
  RollbackInput,
  Run,
  ScheduleExplanation,
  SchedulePreview,
  SkipInput,
  Tick,
  TickList,
} from '@carillon/contract'
import type { PageQuery } from './page.js'
import type { Inside, KeyedCall, Replayable } from './repeatable.js'

export interface JobsPort {
  create(tenant: number, input: JobInput): Promise<Job>
  /** A call that may be repeated: a repetition has the answer of the first. */
  createOnce(tenant: number, input: JobInput, call: KeyedCall): Promise<Replayable>
  /** What became of each, in their order. `undone`: nothing was created, because one failed of an atomic call. */
  createMany(
    tenant: number,
    items: readonly BulkItem[],
    options: { atomic: boolean; onConflict: OnConflict },
    inside?: Inside,
  ): Promise<{ outcomes: BulkOutcome[]; undone: boolean }>
  list(tenant: number, query: PageQuery & JobFilter): Promise<{ data: Job[]; next_cursor: string | null }>
  get(tenant: number, jobId: string): Promise<Job>
  getByName(tenant: number, name: string): Promise<Job>
  upsert(
    tenant: number,
    input: JobInput,
    expected: number | 'any' | undefined,
  ): Promise<{ job: Job; created: boolean }>
  versions(tenant: number, jobId: string, query: PageQuery): Promise<JobVersionList>
  version(tenant: number, jobId: string, version: number): Promise<JobVersion>
  rollback(tenant: number, jobId: string, input: RollbackInput): Promise<Job>
  cancel(tenant: number, jobId: string, input: CancelJobInput): Promise<Job>
  delete(tenant: number, jobId: string): Promise<void>
  pause(tenant: number, jobId: string, input: PauseInput): Promise<Job>
  resume(tenant: number, jobId: string): Promise<Job>
  edit(tenant: number, jobId: string, patch: JobPatch): Promise<Job>
  /** What `create` and `edit` would come to: checked as they would be, and nothing is changed. */
  tryCreate(tenant: number, input: JobInput): Promise<JobDryRun>
  tryEdit(tenant: number, jobId: string, patch: JobPatch): Promise<JobDryRun>
  trigger(tenant: number, jobId: string, inside?: Inside): Promise<Run>
}

/** One job of many: as it was sent, or what is wrong with it already. */
export type BulkItem = JobInput | CarillonError

export type BulkOutcome =
  | { status: 'created'; jobId: string; nextRunAt: number }
  | { status: 'skipped' }
  | { status: 'failed'; error: CarillonError }

/** Single ticks of a job that are ahead. */
export interface TicksPort {
  list(tenant: number, jobId: string, query: { from: string | undefined; count: number }): Promise<TickList>
  skip(tenant: number, jobId: string, input: SkipInput): Promise<Tick>
  move(tenant: number, jobId: string, input: MoveInput): Promise<Tick>
  restore(tenant: number, jobId: string, input: RestoreInput): Promise<Tick>
}

/** Ticks that have passed, run on request. */
export interface BackfillsPort {
  plan(tenant: number, jobId: string, input: BackfillInput, inside?: Inside): Promise<BackfillPlan>
  start(tenant: number, jobId: string, input: BackfillInput, inside?: Inside): Promise<Backfill>
  list(tenant: number, query: PageQuery & { jobId?: string }): Promise<BackfillList>
  get(tenant: number, backfillId: string): Promise<Backfill>
  cancel(tenant: number, backfillId: string): Promise<Backfill>
}

/** One action on many jobs. */
export interface OperationsPort {
  preview(tenant: number, input: OperationInput, inside?: Inside): Promise<OperationPreview>
  start(tenant: number, input: OperationInput, inside?: Inside): Promise<Operation>
  list(tenant: number, query: PageQuery): Promise<OperationList>
  get(tenant: number, operationId: string): Promise<Operation>
  cancel(tenant: number, operationId: string): Promise<Operation>
}

/** What a schedule means, before a job has it. */
export interface SchedulesPort {
  preview(tenant: number, input: PreviewInput): Promise<SchedulePreview>
  explain(tenant: number, input: ExplainInput): Promise<ScheduleExplanation>
}

export interface CalendarsPort {
  list(tenant: number): Promise<{ data: Calendar[] }>
  get(tenant: number, name: string): Promise<Calendar>
  put(tenant: number, name: string, input: CalendarInput): Promise<Calendar>
  delete(tenant: number, name: string): Promise<void>
}

/** The load that the schedules will make. */
export interface LoadPort {
  forecast(
    tenant: number,
    query: {
      by: 'minute' | 'hour'
      from?: string | undefined
      target?: string | undefined
      tags?: string[] | undefined
    },
  ): Promise<LoadForecast>
  suggestion(tenant: number): Promise<LoadSuggestion>
}
