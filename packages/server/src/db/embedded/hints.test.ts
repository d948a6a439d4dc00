import { describe, expect, it } from 'vitest'
import { lastSqlState } from './hints.js'

describe('the SQLSTATE of a failed start', () => {
  it('is that of the last line in which Postgres gave up', () => {
    const lines = [
      '2025-01-01 00:00:00.000 UTC [7] 00000 LOG:  starting PostgreSQL',
      '2025-01-01 00:00:00.001 UTC [7] F0001 FATAL:  pre-existing shared memory block is still in use',
      '2025-01-01 00:00:00.001 UTC [7] F0001 HINT:  Terminate any old server processes',
      '2025-01-01 00:00:00.002 UTC [7] 00000 LOG:  database system is shut down',
    ]
    expect(lastSqlState(lines)).toBe('F0001')
  })

  it('is unknown when Postgres did not get as far', () => {
    expect(lastSqlState([])).toBeUndefined()
    expect(lastSqlState(['postgres: could not find the data folder'])).toBeUndefined()
  })
})
