// The database server runs and does not do what it is asked.
import { setTimeout as wait } from 'node:timers/promises'

const everybody = ({ fleet }) => ({ victims: fleet.members })

/** Every write is refused, as on a standby. */
export const readOnly = {
  name: 'read-only',
  pick: everybody,
  async inject({ postgres, random }) {
    await set(postgres, 'on')
    await wait(random.between(2_000, 5_000))
  },
  heal: ({ postgres }) => set(postgres, 'off'),
}

async function set(postgres, value) {
  await postgres.with(async (client) => {
    await client.query('SET default_transaction_read_only = off')
    await client.query(
      value === 'on'
        ? 'ALTER SYSTEM SET default_transaction_read_only = on'
        : 'ALTER SYSTEM RESET default_transaction_read_only',
    )
    await client.query('SELECT pg_reload_conf()')
  })
}

const lockable = ['queue', 'timers', 'ledger', 'jobs', 'partitions', 'incarnations']

const lockOf = (table) => `LOCK TABLE carillon.${table} IN ACCESS EXCLUSIVE MODE`

/** Somebody else's migration has a table for itself. */
export const tableLock = {
  name: 'table-lock',
  pick: ({ fleet, random }) => ({ victims: fleet.members, table: random.pick(lockable) }),
  async inject({ postgres, random }, state) {
    state.client = await postgres.connect()
    await state.client.query('BEGIN')
    await state.client.query("SET LOCAL lock_timeout = '10s'")
    await state.client.query({ text: lockOf(state.table) }).catch(() => undefined)
    await wait(random.between(2_000, 5_000))
  },
  async heal(_context, { client }) {
    await client.query('ROLLBACK').catch(() => undefined)
    await client.end().catch(() => undefined)
  },
}

/** A transaction stays open while other things go wrong: nothing that it may see can be cleaned up. */
export const longTransaction = {
  name: 'long-transaction',
  pick: () => ({ victims: [] }),
  async inject({ postgres, random, aside }) {
    const client = await postgres.connect()
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await client.query('SELECT txid_current(), count(*) FROM carillon.jobs')
    const timer = setTimeout(() => void client.end().catch(() => undefined), random.between(20_000, 60_000))
    aside(async () => {
      clearTimeout(timer)
      await client.end().catch(() => undefined)
    })
  },
  heal: () => undefined,
}

/** Every connection that the server has to give is taken, while a process dies and wants to come back. */
export const exhaustion = {
  name: 'connections',
  pick: ({ fleet, random }) => ({ victims: fleet.members, killed: random.pick(fleet.members) }),
  async inject({ postgres }, state) {
    state.taken = []
    await state.killed.kill()
    for (const end = Date.now() + 4_000; Date.now() < end; ) {
      const client = await postgres.connect().catch(() => null)
      if (client === null) await wait(50)
      else state.taken.push(client)
    }
  },
  async heal({ fleet }, { taken }) {
    await Promise.all(taken.map((client) => client.end().catch(() => undefined)))
    await fleet.heal()
  },
}
