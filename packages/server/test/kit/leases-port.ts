import {
  CarillonError,
  type CloseAnswer,
  type CloseInput,
  type HeartbeatAnswer,
  type HeartbeatInput,
  type Lease,
  type LeaseAnswer,
  type LeaseInput,
} from '@carillon/contract'
import type { LeasesPort } from '../../src/http/api.js'

const terms = { worker_id: 'node_00000000001', lease_seconds: 30, heartbeat_seconds: 10 }

/** Leases made by hand, behind the port that the HTTP room is handed. */
export class MemoryLeases implements LeasesPort {
  readonly asked: unknown[] = []
  readonly signals: AbortSignal[] = []
  /** What a lease call answers, and when. */
  answer: (signal: AbortSignal) => Promise<Lease[]> = () => Promise.resolve([])

  async lease(tenant: number, input: LeaseInput, signal: AbortSignal): Promise<LeaseAnswer> {
    this.asked.push({ tenant, ...input })
    this.signals.push(signal)
    this.refuse(input.worker_id)
    return { ...terms, data: await this.answer(signal) }
  }

  async heartbeat(tenant: number, input: HeartbeatInput): Promise<HeartbeatAnswer> {
    this.asked.push({ tenant, ...input })
    this.refuse(input.worker_id)
    return Promise.resolve({ ...terms, held: input.runs ?? [], stop: [], lost: [] })
  }

  async close(tenant: number, input: CloseInput): Promise<CloseAnswer> {
    this.asked.push({ tenant, ...input })
    this.refuse(input.worker_id)
    const data = input.results.map(({ run_id, fencing_token }) => ({
      run_id,
      fencing_token,
      status: 'closed' as const,
    }))
    return Promise.resolve({ worker_id: input.worker_id, alive: true, data })
  }

  private refuse(workerId: string | undefined): void {
    if (workerId === 'node_gone') throw new CarillonError('worker_gone')
    if (workerId === 'node_foreign') throw new CarillonError('worker_not_found')
  }
}
