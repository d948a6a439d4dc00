import { errorCatalogue } from '@carillon/contract'
import { ApiError, ConnectionError } from '@carillon/sdk'
import { CommanderError } from 'commander'
import { describe, expect, it } from 'vitest'
import { exitCodeOf, explainFailure } from './failure.js'
import { NotFoundError, UsageError } from './usage.js'

function answer(fields: Partial<ApiError>): ApiError {
  return new ApiError({
    status: 422,
    code: 'validation_failed',
    detail: '/name is too long',
    hint: 'Shorten it.',
    errors: [],
    requestId: 'req_1',
    ...fields,
  })
}

const configError = Object.assign(new Error('wrong'), { name: 'ConfigError' })
const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' })

function lost(method: string, cause: Error, url = 'http://127.0.0.1:1/api/v1/jobs'): ConnectionError {
  return new ConnectionError(method, url, cause.message, new TypeError('fetch failed', { cause }))
}

describe('exitCodeOf', () => {
  it.each([
    ['a failure', new Error('x'), 1],
    ['a refused value', answer({}), 1],
    ['a server without its database', answer({ status: 503, code: 'database_unavailable' }), 1],
    ['wrong usage', new UsageError('x'), 2],
    ['wrong usage that commander found', new CommanderError(1, 'commander.unknownOption', 'x'), 2],
    ['wrong settings', configError, 2],
    ['help', new CommanderError(0, 'commander.helpDisplayed', 'x'), 0],
    ['a name that no job has', new NotFoundError('x'), 3],
    ['an id that no job has', answer({ status: 404, code: 'job_not_found' }), 3],
    ['a route that the server does not have', answer({ status: 404, code: 'route_not_found' }), 1],
    ['a name that is taken', answer({ status: 409, code: 'job_name_taken' }), 4],
    ['no answer', lost('GET', refused), 5],
    ['the 404 of something that is not Carillon', answer({ status: 404, code: 'unexpected_answer' }), 5],
  ])('of %s', (_what, error, code) => {
    expect(exitCodeOf(error)).toBe(code)
  })
})

describe('explainFailure', () => {
  it('shows code, detail, every field with its hint, and what to do', () => {
    const errors = [{ pointer: '/name', message: 'has 300 characters', hint: 'At most 200.' }]
    expect(explainFailure(answer({ errors }))).toBe(
      [
        'carillon: /name is too long (validation_failed, HTTP 422)',
        '  /name: has 300 characters',
        '      At most 200.',
        '  What to do: Shorten it.',
      ].join('\n'),
    )
  })

  it('does not say the same hint twice', () => {
    const errors = [{ pointer: '/name', message: 'is long', hint: 'Shorten it.' }]
    expect(explainFailure(answer({ errors }))?.match(/Shorten it/g)).toHaveLength(1)
  })

  it('does not say the same sentence twice', () => {
    const one = { pointer: '/name', message: '/name is too long' }
    expect(explainFailure(answer({ errors: [{ ...one, hint: 'At most 200.' }], hint: '' }))).toBe(
      'carillon: /name is too long (validation_failed, HTTP 422)\n  /name: At most 200.',
    )
    expect(explainFailure(answer({ errors: [one], hint: '' }))).toMatch(/HTTP 422\)\n {2}\/name$/)
  })

  it("points to the server's log only where something is in it", () => {
    const failed = answer({ status: 500, code: 'internal_error' })
    expect(explainFailure(failed)).toMatch(/\n {2}Request: req_1, in the server's log$/)
    expect(explainFailure(answer({}))).not.toContain('req_1')
  })

  it('says what to do in commands where a key, a thing or its state is the trouble', () => {
    const spokenOfOverHttp = ['route_not_found', 'worker_not_found', 'worker_gone']
    for (const [code, { status, hint }] of Object.entries(errorCatalogue)) {
      if (![401, 404, 409].includes(status) || spokenOfOverHttp.includes(code)) continue
      expect(explainFailure(answer({ status, code, hint })), code).not.toMatch(/\/api\/v1|Authorization/)
    }
    const unknown = explainFailure(answer({ status: 401, code: 'unauthenticated' }))
    expect(unknown).toMatch(/CARILLON_API_KEY.*carillon profiles add/)
  })

  it('names the server that does not answer and how to start one', () => {
    const text = explainFailure(lost('GET', refused))
    expect(text).toContain('http://127.0.0.1:1: connect ECONNREFUSED')
    expect(text).toContain('carillon up')
    expect(text).toContain('--url')
  })

  it('warns of a repetition only where the call may have arrived', () => {
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    expect(explainFailure(lost('POST', reset))).toContain('look before you repeat it')
    expect(explainFailure(lost('POST', refused))).not.toContain('repeat')
    expect(explainFailure(lost('GET', reset))).not.toContain('repeat')
  })

  it('sends nothing of what a server wrote to the terminal unseen', () => {
    const errors = [{ pointer: '/\u001b[2J', message: '\u009b31m\n', hint: '\u0007' }]
    const text = explainFailure(
      answer({ detail: 'a\u001b]0;b\u0007', code: 'c\r', errors, requestId: '\u001b' }),
    )
    expect(text).not.toMatch(/[^\P{Cc}\n]/u)
    expect(text?.split('\n')).toHaveLength(4)
  })

  it('shows causes, and keeps a password in a URL to itself', () => {
    const cause = new Error('cannot use postgres://me:hunter2@db/x')
    expect(explainFailure(new Error('no database', { cause }))).toBe(
      'carillon: no database\n  because: cannot use postgres://me:****@db/x',
    )
  })

  it('says what every address answered when all refused', () => {
    const error = new AggregateError([new Error('one'), new Error('two')], '')
    expect(explainFailure(error)).toBe('carillon: one; two')
  })

  it('adds nothing to what commander has said', () => {
    expect(explainFailure(new CommanderError(1, 'commander.unknownOption', 'x'))).toBeNull()
  })
})
