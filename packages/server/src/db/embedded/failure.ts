/** Something about the embedded Postgres that a person has to know: what, where, why, what to do. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError'
}

/** The advice that ends most messages: both ways out always work. */
export const OTHER_WAYS_OUT = 'Name another --data-dir, or set DATABASE_URL to a PostgreSQL of your own.'

/** The `code` of a Node or Postgres error ('ENOENT', '57P03'), if it has one. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
