import type { Sql, TaskContext } from '@carillon/sdk'
import { beforeAll, beforeEach } from 'vitest'
import type { House } from './use-house.js'

/** A table of the handler's own, in the database of Carillon: what it holds was committed. Call it once, after useHouse. */
export function useHandlerTable(house: () => House) {
  beforeAll(() => house().query('CREATE TABLE public.effects_made (run text, attempt int)'))
  beforeEach(() => house().query('TRUNCATE public.effects_made'))
  return {
    make: (sql: Sql, ctx: TaskContext) => sql`INSERT INTO effects_made VALUES (${ctx.runId}, ${ctx.attempt})`,
    made: () => house().query<{ attempt: number }>('SELECT attempt FROM effects_made ORDER BY attempt'),
  }
}

/** Takes the lease away, as a rescue does: the next look at the queue finds the run free. */
export function takeAway(house: House): Promise<unknown> {
  return house.query(
    'UPDATE carillon.queue SET holder = NULL, token = NULL, leased_at = NULL, attempt = attempt + 1',
  )
}

/** A step that waits until the test lets it go. */
export function step() {
  let open: () => void = () => undefined
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open: () => open() }
}
