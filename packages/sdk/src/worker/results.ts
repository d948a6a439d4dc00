import type { AttemptReport, CloseAnswer, CloseInput } from '@carillon/contract'
import { ApiError } from '../errors.js'
import type { TaskLog } from '../task.js'
import type { Retry } from './retry.js'

interface Waiting {
  workerId: string
  report: AttemptReport
  settle: () => void
}

const mostPerCall = 20

export interface ResultsOptions {
  close: (input: CloseInput) => Promise<CloseAnswer>
  retry: Retry
  log: TaskLog
}

/**
 * Tells the server how attempts ended, many with one call. What could not be sent is sent again, unchanged: the server
 * knows a result that it has. One at a time, so that results go out in order and share calls while one is on its way.
 */
export class Results {
  private waiting: Waiting[] = []
  private sending: Promise<void> | null = null

  constructor(private readonly options: ResultsOptions) {}

  /** Resolves when the server has answered for this result, or refused it for good. */
  tell(workerId: string, report: AttemptReport): Promise<void> {
    return new Promise((settle) => {
      this.waiting.push({ workerId, report, settle })
      this.sending ??= this.sendAll()
    })
  }

  private async sendAll(): Promise<void> {
    while (this.waiting.length > 0) {
      const [first] = this.waiting
      const batch = this.waiting.filter(({ workerId }) => workerId === first?.workerId).slice(0, mostPerCall)
      this.waiting = this.waiting.filter((entry) => !batch.includes(entry))
      await this.send(batch)
      for (const { settle } of batch) settle()
    }
    // In the same breath as the last look at what waits: a result that comes now is sent by a new round.
    this.sending = null
  }

  private async send(batch: Waiting[]): Promise<void> {
    const { close, retry, log } = this.options
    const [first] = batch
    if (first === undefined) return
    const results = batch.map(({ report }) => report)
    try {
      const { data } = await retry(() => close({ worker_id: first.workerId, results }))
      for (const { run_id, status } of data) {
        if (status === 'stale') log.warn('a result came after its lease was lost: kept as stale', { run_id })
      }
    } catch (error) {
      // The server refuses the call for good. One result that it cannot take must not cost the others.
      if (batch.length > 1 && error instanceof ApiError) for (const one of batch) await this.send([one])
      else log.error('a result was not taken', { run_id: first.report.run_id, error: String(error) })
    }
  }
}
