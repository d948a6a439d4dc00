import { CarillonError } from '@carillon/contract'
import type { Answer, IdempotencyPort, Inside, KeyedCall, Replayable } from '../../src/http/api.js'

/** Answers in memory, by tenant and key. */
export class MemoryIdempotency implements IdempotencyPort {
  readonly kept = new Map<string, { request: Buffer; answer: Answer }>()
  /** What work was done inside of. */
  readonly inside: Inside = {}

  async once(
    tenant: number,
    call: KeyedCall,
    work: (inside: Inside) => Promise<Answer>,
  ): Promise<Replayable> {
    const known = this.kept.get(`${tenant} ${call.key}`)
    if (known !== undefined) {
      if (!known.request.equals(call.request)) throw new CarillonError('idempotency_key_reused')
      return { answer: known.answer, replayed: true }
    }
    const answer = await work(this.inside)
    await this.keep(tenant, call, answer)
    return { answer, replayed: false }
  }

  keep(tenant: number, { key, request }: KeyedCall, answer: Answer): Promise<void> {
    this.kept.set(`${tenant} ${key}`, { request, answer })
    return Promise.resolve()
  }
}
