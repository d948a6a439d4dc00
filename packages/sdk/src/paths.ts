import type { Call } from './transport.js'

export type CallApi = <T>(what: Call) => Promise<T>

/** A path for one thing of a kind. As a segment an empty id, "." or ".." would address something else. */
export function pathTo(parent: string, id: string, what: string): string {
  if (/^\.{0,2}$/.test(id)) throw new TypeError(`"${id}" is not ${what}.`)
  return `${parent}/${encodeURIComponent(id)}`
}

interface AnyPage<Item> {
  data: Item[]
  next_cursor: string | null
}

/** All items of a list, page by page as they are asked for. */
export async function* pages<Item, Query extends object>(
  list: (query: Query & { cursor?: string }) => Promise<AnyPage<Item>>,
  query: Query,
): AsyncGenerator<Item, void, undefined> {
  let cursor: string | null | undefined
  do {
    const { data, next_cursor } = await list(cursor ? { ...query, cursor } : query)
    yield* data
    cursor = next_cursor
  } while (cursor)
}

/** For a call that the server does once for each key: a new one where the caller has none. */
export function keyOf(options: { idempotencyKey?: string } | undefined): string {
  return options?.idempotencyKey ?? globalThis.crypto.randomUUID()
}

export interface OnceOptions {
  /**
   * The server does a call with this key once within 24 hours and answers the same again. Made for every call where it is
   * left out, so that a call whose answer was lost can be repeated; give one to be safe beyond the life of this process.
   */
  idempotencyKey?: string
}
