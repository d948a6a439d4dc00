import { CarillonError } from '@carillon/contract'
import type { RunSink, RunStreamPort } from '../../src/http/api.js'

/** Streams of runs by hand: a test says what is told to whom. */
export class MemoryRunStreams implements RunStreamPort {
  readonly asked: unknown[] = []
  readonly open = new Set<RunSink>()

  prepare: RunStreamPort['prepare'] = (tenant, of) => {
    this.asked.push({ tenant, ...of })
    if (of.jobId === 'job_none') return Promise.reject(new CarillonError('job_not_found'))
    if (of.from === 'nonsense') return Promise.reject(new CarillonError('invalid_cursor'))
    return Promise.resolve({
      start: (sink) => {
        this.open.add(sink)
        return () => void this.open.delete(sink)
      },
    })
  }
}
