import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { codeOf, isDatabaseUnavailable, isUniqueViolation } from './errors.js'

function withCode(code: unknown, more: object = {}): Error {
  return Object.assign(new Error('some words'), { code }, more)
}

describe('an error that says the database is away', () => {
  it.each([
    ['ECONNREFUSED', 'nobody listens'],
    ['ECONNRESET', 'the connection broke'],
    ['ETIMEDOUT', 'no answer from the host'],
    ['EPIPE', 'written to a closed connection'],
    ['ENOTFOUND', 'no such host'],
    ['EAI_AGAIN', 'the name server is away'],
    ['EHOSTUNREACH', 'no way to the host'],
    ['ENETUNREACH', 'no way to the network'],
    ['57P01', 'shut down'],
    ['57P02', 'crashed'],
    ['57P03', 'starting up'],
    ['53300', 'no connection left'],
    ['53100', 'disk full'],
    ['53200', 'out of memory'],
    ['57014', 'statement timeout'],
    ['55P03', 'lock timeout'],
    ['25006', 'read-only: a standby'],
    ['08006', 'connection failure'],
    ['08000', 'connection exception'],
  ])('is known by its code %s: %s', (code) => {
    expect(isDatabaseUnavailable(withCode(code))).toBe(true)
  })

  it.each([
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'Connection terminated',
    'timeout exceeded when trying to connect',
    'timeout expired',
    'Query read timeout',
    'Client has encountered a connection error and is not queryable',
    'Client was closed and is not queryable',
    'Cannot use a pool after calling end on the pool',
  ])('is known by the words of the driver where it gives no code: %s', (message) => {
    expect(isDatabaseUnavailable(new Error(message))).toBe(true)
    expect(driverSource()).toContain(`'${message}'`)
  })

  it('is known when several addresses of the host all refused', () => {
    const refusals = ['::1', '127.0.0.1'].map((address) => withCode('ECONNREFUSED', { address }))
    expect(isDatabaseUnavailable(Object.assign(new AggregateError(refusals), { code: 'ECONNREFUSED' }))).toBe(
      true,
    )
  })
})

describe('an error that is the caller’s own', () => {
  it.each([
    ['23505', 'unique violation'],
    ['23514', 'check violation'],
    ['42601', 'syntax error'],
    ['42P01', 'no such table'],
    ['22003', 'number out of range'],
    ['40001', 'serialization failure'],
    ['40P01', 'deadlock'],
    ['28P01', 'wrong password'],
    ['3D000', 'no such database'],
  ])('is not taken for an outage: %s %s', (code) => {
    expect(isDatabaseUnavailable(withCode(code))).toBe(false)
  })

  it.each([[undefined], [null], ['ECONNREFUSED'], [{}], [{ code: 8006 }], [new Error('boom')]])(
    'is not taken for an outage: %o',
    (error) => {
      expect(isDatabaseUnavailable(error)).toBe(false)
    },
  )

  it('is told by its code even where its words are the driver’s', () => {
    expect(isDatabaseUnavailable(Object.assign(new Error('Connection terminated'), { code: '42601' }))).toBe(
      false,
    )
  })
})

describe('a unique violation', () => {
  const taken = withCode('23505', { constraint: 'jobs_live_name' })

  it('is told by its SQLSTATE, and by its constraint where one is named', () => {
    expect(isUniqueViolation(taken)).toBe(true)
    expect(isUniqueViolation(taken, 'jobs_live_name')).toBe(true)
    expect(isUniqueViolation(taken, 'queue_slot')).toBe(false)
    expect(isUniqueViolation(withCode('23503', { constraint: 'jobs_live_name' }))).toBe(false)
    expect(isUniqueViolation(undefined)).toBe(false)
  })
})

it('a code is text, or there is none', () => {
  expect(codeOf(withCode('23505'))).toBe('23505')
  expect([undefined, null, 7, 'text', {}, { code: 7 }].map((error) => codeOf(error))).toEqual(
    new Array(6).fill(undefined),
  )
})

/** The words are the driver's, not ours: an upgrade that changes them must be noticed. */
function driverSource(): string {
  const { resolve } = createRequire(import.meta.url)
  const pool = createRequire(resolve('pg')).resolve('pg-pool')
  return [resolve('pg/lib/client.js'), pool].map((file) => readFileSync(file, 'utf8')).join('\n')
}
