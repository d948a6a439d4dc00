import { afterAll, beforeAll, expect, test } from 'vitest'
import type pg from 'pg'
import { booleans, byteas, int2s, int4s, int8s, jsonbs, texts, uuids } from '../../src/db/binary-arrays.js'
import { createTestDatabase, type TestDatabase } from '../kit/test-database.js'

let database: TestDatabase
let session: pg.Client

beforeAll(async () => {
  database = await createTestDatabase()
  session = await database.session()
})

afterAll(() => database.close())

/** The elements as Postgres writes them, and how many it counts. */
async function readBack(type: string, array: Buffer): Promise<string[]> {
  const { rows } = await session.query<{ elements: string[] }>(
    [
      "SELECT coalesce(array_agg(each::text ORDER BY place), '{}') AS elements",
      `FROM unnest($1::${type}[]) WITH ORDINALITY AS a (each, place)`,
    ].join(' '),
    [array],
  )
  return rows[0]?.elements ?? []
}

const uuid = '01936d3e-7f00-7abc-9def-0123456789ab'

test.each<[string, Buffer, string[]]>([
  ['boolean', booleans([true, false]), ['true', 'false']],
  ['int2', int2s([0, 255, -32_768, 32_767]), ['0', '255', '-32768', '32767']],
  ['int4', int4s([0, -1, 2_147_483_647]), ['0', '-1', '2147483647']],
  [
    'int8',
    int8s([0, -1, 1, 4_294_967_295, 4_294_967_296, -4_294_967_296, 1_794_833_650_925]),
    ['0', '-1', '1', '4294967295', '4294967296', '-4294967296', '1794833650925'],
  ],
  [
    'int8',
    int8s([Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]),
    ['9007199254740991', '-9007199254740991'],
  ],
  [
    'uuid',
    uuids([uuid, '00000000-0000-0000-0000-000000000000']),
    [uuid, '00000000-0000-0000-0000-000000000000'],
  ],
  [
    'text',
    texts(['', 'NULL', '{"a",b}', "it's\\", 'é😀￿', 'x'.repeat(70_000)]),
    ['', 'NULL', '{"a",b}', "it's\\", 'é😀￿', 'x'.repeat(70_000)],
  ],
  ['jsonb', jsonbs(['{"a":"é😀"}', 'null', '[1]', '"x"']), ['{"a": "é😀"}', 'null', '[1]', '"x"']],
  [
    'bytea',
    byteas([Buffer.from([0, 255]), Buffer.alloc(0), Buffer.from('abc')]),
    ['\\x00ff', '\\x', '\\x616263'],
  ],
  ['bytea', byteas([]), []],
  ['text', texts([]), []],
  ['int8', int8s([]), []],
  ['jsonb', jsonbs([]), []],
])('an array of %s is read as it was meant', async (type, array, expected) => {
  expect(await readBack(type, array)).toEqual(expected)
})
