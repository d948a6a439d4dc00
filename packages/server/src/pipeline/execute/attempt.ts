import type { JobDefinition } from '@carillon/contract'
import { runIdOf } from '../../platform/ids.js'
import type { Attempt, AttemptEffects } from '../../targets/target.js'
import { idempotencyKeyOf } from '../idempotency-key.js'
import type { LeasedRun, RunDefinition } from '../run.js'

/** An attempt that has begun, as its worker knows it. */
export interface Begun {
  readonly startedAt: number
  /** Asks whether the run is still held and wanted. */
  confirm(): Promise<void>
}

/** What a task can do in the database beside its run. */
export type EffectsOf = (attempt: RunAttempt) => AttemptEffects

/** One attempt, as its target sees it. Ids and keys are long texts, written only where they are read. */
export class RunAttempt implements Attempt {
  readonly effects?: AttemptEffects
  private key: string | null = null
  private id: string | null = null

  constructor(
    readonly run: LeasedRun,
    private readonly of: RunDefinition,
    private readonly begun: Begun,
    effects: EffectsOf | null,
  ) {
    if (effects !== null) this.effects = effects(this)
  }

  confirm(): Promise<void> {
    return this.begun.confirm()
  }

  get startedAt(): number {
    return this.begun.startedAt
  }

  get definition(): JobDefinition {
    return this.of.definition
  }

  get tenant(): number {
    return this.run.tenant
  }

  get jobId(): string {
    return this.of.jobId
  }

  get jobName(): string {
    return this.of.definition.name
  }

  get runId(): string {
    this.id ??= runIdOf(this.run)
    return this.id
  }

  get scheduledAt(): number {
    return this.run.due
  }

  get attempt(): number {
    return this.run.attempt
  }

  get token(): number {
    return this.run.token
  }

  get catchUp(): boolean {
    return this.run.catchUp
  }

  get idempotencyKey(): string {
    this.key ??= idempotencyKeyOf(this.run, this.of)
    return this.key
  }

  get payload(): unknown {
    return 'payload' in this.run ? this.run.payload : this.of.definition.payload
  }

  get timeoutMs(): number {
    const ofJob = this.of.definition.timeout_seconds * 1000
    return Math.min(ofJob, this.run.guard?.timeoutMs ?? Number.POSITIVE_INFINITY)
  }
}
