import { describe, expect, it } from 'vitest'
import { isSampled, parseTraceparent, registrationOf, runTraceId } from './trace-ids.js'

describe('one trace in so many', () => {
  const traces = Array.from({ length: 2_000 }, (_, n) => runTraceId('job_1', `run_${n}`))

  it('is about so many, and always the same ones', () => {
    expect(traces.every((trace) => isSampled(trace, 1))).toBe(true)
    const kept = traces.filter((trace) => isSampled(trace, 10))
    expect(kept.length).toBeGreaterThan(120)
    expect(kept.length).toBeLessThan(280)
    expect(traces.filter((trace) => isSampled(trace, 10))).toEqual(kept)
  })
})

describe('the context of a caller', () => {
  const trace = 'a'.repeat(32)
  const span = 'b'.repeat(16)

  it('is read from its header', () => {
    expect(parseTraceparent(`00-${trace}-${span}-01`)).toEqual({
      traceId: trace,
      spanId: span,
      sampled: true,
    })
    expect(parseTraceparent(`00-${trace}-${span}-00`)).toMatchObject({ sampled: false })
    // A later version may have more behind it.
    expect(parseTraceparent(`01-${trace}-${span}-03-more`)).toMatchObject({ traceId: trace, sampled: true })
  })

  it.each([
    undefined,
    '',
    'nonsense',
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `ff-${trace}-${span}-01`,
    `00-${trace.toUpperCase()}-${span}-01`,
  ])('is none in %j', (header) => {
    expect(parseTraceparent(header)).toBeNull()
  })
})

it('versions of a job share a trace and have spans of their own', () => {
  const [one, two] = [registrationOf('job_1', 1), registrationOf('job_1', 2)]
  expect(one.traceId).toBe(two.traceId)
  expect(one.spanId).not.toBe(two.spanId)
  expect(registrationOf('job_2', 1).traceId).not.toBe(one.traceId)
})
