import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { binaryArray } from '../../src/db/binary-array.js'
import type { ParamValue } from '../../src/db/statement.js'
import { createTestDatabase, type TestDatabase } from '../kit/test-database.js'

let database: TestDatabase
let session: pg.Client

beforeAll(async () => {
  database = await createTestDatabase()
  session = await database.session()
})

afterAll(() => database.close())

const uuid = '01936d3e-7f00-7abc-9def-0123456789ab'

/** Eight make it worth while. */
const filler = (value: ParamValue) => Array.from({ length: 8 }, () => value)

test.each<[string, ParamValue[]]>([
  ['bigint[]', [0, 1, -1, 4_294_967_295, 4_294_967_296, -4_294_967_296, null, 1_794_833_650_925]],
  ['bigint[]', [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, null, null, ...filler(7)]],
  ['int[]', [0, -1, 2_147_483_647, -2_147_483_648, null, ...filler(3)]],
  ['smallint[]', [0, -1, 32_767, -32_768, null, ...filler(255)]],
  ['boolean[]', [true, false, null, ...filler(true)]],
  ['tid[]', ['(0,1)', '(4294967295,65535)', null, '(123,45)', ...filler('(7,8)')]],
  ['bigint[]', filler(null)],
  ['uuid[]', [uuid, null, '00000000-0000-0000-0000-000000000000', ...filler(uuid)]],
  ['text[]', ['', 'NULL', null, '{"a",b}', "it's\\", 'é😀\uffff', 'x'.repeat(70_000), ...filler('y')]],
  ['text[]', filler(null)],
  ['jsonb[]', ['{"a": "é😀"}', 'null', null, '[1]', '"x"', ...filler('{}')]],
])('a column of %s is read as it was meant: %j', async (type, values) => {
  const array = binaryArray(type, values)
  expect(array).not.toBeNull()
  const { rows } = await session.query<{ elements: (string | null)[]; first: number }>(
    [
      `SELECT array_agg(each::text ORDER BY place) AS elements, array_lower($1::${type}, 1) AS first`,
      `FROM unnest($1::${type}) WITH ORDINALITY AS a (each, place)`,
    ].join(' '),
    [array],
  )
  expect(rows[0]?.elements).toEqual(values.map((value) => (value === null ? null : `${value as string}`)))
  expect(Number(rows[0]?.first)).toBe(1)
})

test('a column of bytes is read as it was meant', async () => {
  const values = [Buffer.from([0, 255]), null, Buffer.alloc(0), ...filler(Buffer.from('abc'))]
  const { rows } = await session.query<{ elements: (string | null)[] }>(
    "SELECT array_agg(encode(each, 'hex') ORDER BY place) AS elements FROM unnest($1::bytea[]) WITH ORDINALITY AS a (each, place)",
    [binaryArray('bytea[]', values)],
  )
  expect(rows[0]?.elements).toEqual(['00ff', null, '', ...filler('616263')])
})

test.each<[string, ParamValue]>([
  ['bigint[]', 1.5],
  ['bigint[]', Number.MAX_SAFE_INTEGER + 1],
  ['bigint[]', Number.NaN],
  ['bigint[]', '12'],
  ['int[]', 2_147_483_648],
  ['int[]', -2_147_483_649],
  ['int[]', 0.5],
  ['smallint[]', 32_768],
  ['smallint[]', -32_769],
  ['smallint[]', 65_536],
  ['boolean[]', 't'],
  ['tid[]', 'x'],
  ['tid[]', '(1,65536)'],
  ['tid[]', '(-1,1)'],
  ['uuid[]', uuid.slice(1)],
  ['uuid[]', uuid.replaceAll('-', '')],
  ['uuid[]', uuid.replace('7', 'g')],
  ['text[]', 1],
  ['jsonb[]', true],
  ['bytea[]', 'abc'],
  ['inet[]', '127.0.0.1'],
])('what does not fit %s is left to the text, which Postgres judges: %j', (type, value) => {
  expect(binaryArray(type, filler(value))).toBeNull()
})

test('a few are sent as text', () => {
  expect(binaryArray('bigint[]', [1, 2, 3])).toBeNull()
})
