import type { Client } from 'pg'

/** Work that is begun when it is known who wants to hear how the indexes get on. */
export interface Filling {
  built(onIndex: (done: number, total: number) => void): Promise<void>
}

/**
 * Fills a table while its indexes are away, and builds them afterwards: several times as fast as adding row by row. Those
 * of constraints stay. They come back also when filling fails.
 */
export function withoutIndexes(client: Client, table: string, fill: () => Promise<void>): Filling {
  return {
    async built(onIndex) {
      const { rows } = await client.query<{ name: string; definition: string }>(
        `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
         FROM pg_index i
         WHERE indrelid = $1::regclass AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)`,
        [table],
      )
      for (const { name } of rows) await client.query(['DROP INDEX', name].join(' '))
      try {
        await fill()
      } finally {
        for (const [at, { definition }] of rows.entries()) {
          onIndex(at, rows.length)
          await client.query(definition)
        }
        onIndex(rows.length, rows.length)
      }
    },
  }
}
