import type { Client } from 'pg'
import { describe, expect, it } from 'vitest'
import { inHouse } from '../bench/lib/house.mjs'
import { touchBuffers } from '../bench/lib/touch-buffers.mjs'

describe("Postgres' own memory", () => {
  it('is touched by as many pages as were asked for, and nothing of it is left', async () => {
    await inHouse(async (house: { postgres(): Promise<{ url: string; admin: Client }> }) => {
      const postgres = await house.postgres()
      const databases = async () =>
        (await postgres.admin.query<{ datname: string }>('SELECT datname FROM pg_database ORDER BY 1')).rows
      const before = await databases()
      expect(await touchBuffers(postgres, 50)).toBe(50)
      expect(await databases()).toEqual(before)
    })
  })
})
