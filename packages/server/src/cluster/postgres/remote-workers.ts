import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { newIncarnation } from '../../platform/ids.js'

const enrolStatement = statement<
  { incarnation: number; tenant: number; name: string; tasks: string[]; code_version: string },
  { incarnation: number }
>(new URL('./enrol-worker.sql', import.meta.url))
const signStatement = statement<
  { tenant: number; incarnation: number; tasks: string[] | null },
  { alive: boolean; now: number }
>(new URL('./sign-of-worker.sql', import.meta.url))
const leaveStatement = statement<{ incarnation: number }, { incarnation: number }>(
  new URL('./leave.sql', import.meta.url),
)

/**
 * Lives of workers over HTTP. Each is an incarnation of its own, not one of the process that answers its calls: any
 * process may answer the next one, and none of them takes its runs along when it ends.
 */
export class RemoteWorkers {
  constructor(
    private readonly database: Database,
    private readonly codeVersion: string,
  ) {}

  async enrol(tenant: number, name: string, tasks: readonly string[]): Promise<number> {
    const incarnation = newIncarnation()
    await this.database.run(enrolStatement, {
      incarnation,
      tenant,
      name,
      tasks: [...tasks],
      code_version: this.codeVersion,
    })
    return incarnation
  }

  /** A life sign. Null: the tenant has no such worker. */
  async sign(
    tenant: number,
    incarnation: number,
    tasks: readonly string[] | null = null,
  ): Promise<'alive' | 'gone' | null> {
    const [row] = await this.database.run(signStatement, {
      tenant,
      incarnation,
      tasks: tasks === null ? null : [...tasks],
    })
    if (row === undefined) return null
    return row.alive ? 'alive' : 'gone'
  }

  async leave(incarnation: number): Promise<void> {
    await this.database.run(leaveStatement, { incarnation })
  }
}
