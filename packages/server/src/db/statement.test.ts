import { describe, expect, it } from 'vitest'
import { parseStatement, type Statement, statement, valuesOf } from './statement.js'

function parse(source: string): Statement<never, object> {
  return parseStatement('stage/look.sql', source)
}

describe('parameters of a statement', () => {
  it('become typed placeholders, in the order in which they are declared', () => {
    const { text, params } = parse(`-- Looks.
-- @param partitions smallint[]
-- @param due bigint
SELECT job FROM timers WHERE due = :due AND partition = ANY(:partitions)`)
    expect(text).toBe('SELECT job FROM timers WHERE due = $2::bigint AND partition = ANY($1::smallint[])')
    expect(params).toEqual(['partitions', 'due'])
  })

  it('may be used more than once', () => {
    expect(parse('-- @param n int\nSELECT :n, :n + 1').text).toBe('SELECT $1::int, $1::int + 1')
  })

  it('may be wanting', () => {
    expect(parse('-- Looks.\nSELECT 1')).toMatchObject({ text: 'SELECT 1', params: [] })
  })

  it('are told apart where one name begins like another', () => {
    const { text } = parse('-- @param job int\n-- @param job_partition int\nSELECT :job_partition, :job')
    expect(text).toBe('SELECT $2::int, $1::int')
  })

  it('must be declared', () => {
    expect(() => parse('SELECT :due')).toThrow(
      'stage/look.sql: the parameter :due is not declared with @param.',
    )
  })

  it('must be used', () => {
    expect(() => parse('-- @param due bigint\n-- @param rev int\n-- @param job int\nSELECT :job')).toThrow(
      'stage/look.sql: declared but not used: due, rev.',
    )
  })

  it('are not used by being named in a comment', () => {
    expect(() => parse('-- @param due bigint\nSELECT 1 -- :due')).toThrow('declared but not used: due.')
  })

  it.each([
    '-- @param due\n--\nSELECT :due',
    '-- @param due\nSELECT :due',
    '--\n@param due int\nSELECT :due',
    '-- @param due bigint which is late\nSELECT :due',
  ])('need a declaration of one name and one type on one line: %j', (source) => {
    expect(() => parse(source)).toThrow('the parameter :due is not declared with @param.')
  })
})

describe('what only looks like a parameter', () => {
  it.each([
    ['a cast', 'SELECT now()::date'],
    ['a cast of a column', 'SELECT due::bigint'],
    ['a cast of a cast', "SELECT 'x'::bit(32)::bigint"],
    ['a slice of an array', 'SELECT names[1:2]'],
    ['a time of day', "SELECT to_char(now(), 'HH24:MI')"],
  ])('stays as it is: %s', (_name, sql) => {
    expect(parse(sql).text).toBe(sql)
  })

  it('does not keep a parameter from being cast to something else', () => {
    expect(parse('-- @param n int\nSELECT :n::text').text).toBe('SELECT $1::int::text')
  })
})

describe('comments', () => {
  it('are not sent to the database', () => {
    const { text } = parse('-- What it does.\n--\nSELECT 1, -- one\n       2\n-- the end\n')
    expect(text).toBe('SELECT 1, \n       2')
  })

  it('may end with a carriage return, as a checkout on Windows has it', () => {
    const { text, params } = parse('-- Looks.\r\n-- @param n int\r\nSELECT :n -- one\r\n')
    expect(text.trim()).toBe('SELECT $1::int')
    expect(params).toEqual(['n'])
  })

  it('do not change the name under which a statement is prepared', () => {
    expect(parse('-- a\nSELECT 1').name).toBe(parse('-- b\nSELECT 1').name)
  })
})

describe('the name of a statement', () => {
  it('is its file and a hash of its text: two versions of the code never share one behind a pooler', () => {
    expect(parse('SELECT 1').name).toMatch(/^look_[0-9a-f]{8}$/)
    expect(parse('SELECT 1').name).not.toBe(parse('SELECT 2').name)
    expect(parseStatement('other.sql', 'SELECT 1').name).toMatch(/^other_/)
    expect(parseStatement('stage\\look.sql', 'SELECT 1').name).toBe(parse('SELECT 1').name)
  })

  it('fits into what the server keeps of a name', () => {
    expect(parse('SELECT 1').name.length).toBeLessThanOrEqual(63)
  })
})

it('a statement is read from the file beside its stage', () => {
  const beat = statement<{ incarnation: number; session_lock: boolean }, { alive: boolean }>(
    new URL('../cluster/postgres/heartbeat.sql', import.meta.url),
  )
  expect(beat.name).toMatch(/^heartbeat_/)
  expect(beat.params.slice(0, 1)).toEqual(['incarnation'])
})

describe('the values of a call', () => {
  const look = parse('-- @param a int\n-- @param b text\nSELECT :b, :a')

  it('are put in the order of the parameters', () => {
    expect(valuesOf(look, { b: 'two', a: 1 })).toEqual([1, 'two'])
  })

  it('may be null, false, zero or empty', () => {
    expect(valuesOf(look, { a: 0, b: null })).toEqual([0, null])
    expect(valuesOf(look, { a: false, b: '' })).toEqual([false, ''])
  })

  it('must all be there', () => {
    expect(() => valuesOf(look, { a: 1 })).toThrow(/^look_\w+ was called without its parameter b\.$/)
    expect(() => valuesOf(look, { a: 1, b: undefined })).toThrow('without its parameter b')
  })

  it('must all be known', () => {
    expect(() => valuesOf(look, { a: 1, b: 'two', c: 3 })).toThrow(/^look_\w+ has no parameter c\.$/)
  })
})

describe('when a statement is planned', () => {
  it.each([
    ['-- Looks.\nSELECT 1', 'usually'],
    ['-- @plan each-time\nSELECT 1', 'each-time'],
    ['-- @plan once\nSELECT 1', 'once'],
  ])('%j', (source, planned) => {
    expect(parse(source).planned).toBe(planned)
  })

  it('is nothing to be misspelt', () => {
    expect(() => parse('-- @plan each time\nSELECT 1')).toThrow(
      'stage/look.sql: @plan each time is none that there is',
    )
  })
})
