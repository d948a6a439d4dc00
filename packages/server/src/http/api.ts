import type { Job, JobInput, Run } from '@carillon/contract'

/** What main.ts hands to the HTTP room. Rules and SQL live behind these; errors come out as CarillonError. */
export interface JobsPort {
  create(tenant: number, input: JobInput): Promise<Job>
  list(tenant: number, query: PageQuery): Promise<{ data: Job[]; next_cursor: string | null }>
  get(tenant: number, jobId: string): Promise<Job>
  delete(tenant: number, jobId: string): Promise<void>
}

export interface RunsPort {
  listByJob(
    tenant: number,
    jobId: string,
    query: PageQuery,
  ): Promise<{ runs: Run[]; next_cursor: string | null }>
}

export interface PageQuery {
  limit: number
  cursor: string | null
}

export interface HealthCheck {
  ok: boolean
  detail?: string
}

export interface HealthPort {
  live(): boolean
  ready(): Promise<{ ready: boolean; checks: Record<string, HealthCheck> }>
}

export interface MetricsPort {
  contentType: string
  render(): Promise<string>
}

export interface ApiPorts {
  jobs: JobsPort
  runs: RunsPort
}
