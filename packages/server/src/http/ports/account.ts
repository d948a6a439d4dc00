import type {
  Brake,
  BrakeInput,
  ClusterView,
  Event,
  ServiceStatus,
  Stats,
  StatsHistory,
  Verification,
  Why,
} from '@carillon/contract'

/** How things go, in numbers. */
export interface StatsPort {
  get(tenant: number): Promise<Stats>
  /** The history of the last minute; many who ask at once share one look. */
  recent(tenant: number): Promise<StatsHistory>
  history(tenant: number, minutes: number): Promise<StatsHistory>
}

/** What became of every tick, and how the fleet is. */
export interface AccountPort {
  why(tenant: number, jobId: string, at: string): Promise<Why>
  verify(
    tenant: number,
    query: { from: string; to: string | undefined; jobId: string | undefined; cursor: string | undefined },
  ): Promise<Verification>
  cluster(tenant: number): Promise<ClusterView>
  events(query: { tenant: number; openOnly: boolean; limit: number }): Promise<Event[]>
  brake(): Promise<Brake | null>
  setBrake(input: BrakeInput): Promise<Brake>
  clearBrake(): Promise<boolean>
}

export interface HealthCheck {
  ok: boolean
  detail?: string
}

export interface HealthPort {
  live(): boolean
  /** Of the whole fleet, as this process knows it; asks nobody. */
  status(): ServiceStatus
  ready(): Promise<{ ready: boolean; checks: Record<string, HealthCheck> }>
}

export interface MetricsPort {
  contentType: string
  render(): Promise<string>
  /** Told of every answer, with the operationId of its call. */
  answered?(operation: string | undefined, status: number, durationMs: number): void
}
