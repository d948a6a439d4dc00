import type { JobInput } from '@carillon/contract'
import type { TestNode } from './test-house.js'
import type { House } from './use-house.js'

let made = 0

/** A tenant of its own for a test, with jobs for the task `task`. */
export class Tenant {
  private constructor(
    private readonly house: House,
    readonly key: number,
  ) {}

  static async make(house: House, { weight = 100, cap }: { weight?: number; cap?: number } = {}) {
    made += 1
    const [row] = await house.query<{ tenant: number }>(
      'INSERT INTO carillon.tenants (name, weight) VALUES ($1, $2) RETURNING tenant',
      [`tenant-${made}-${Math.random().toString(36).slice(2)}`, weight],
    )
    const tenant = new Tenant(house, row?.tenant ?? 0)
    if (cap !== undefined) await tenant.cap(cap)
    return tenant
  }

  async cap(most: number | null): Promise<void> {
    await this.house.query('SELECT carillon.cap_tenant($1, $2)', [this.key, most])
  }

  async register(node: TestNode, input: Partial<JobInput> = {}) {
    const job = await node.registry.create(this.key, {
      name: `job-${Math.random().toString(36).slice(2)}`,
      schedule: '* * * * * *',
      target: { type: 'task', task: 'task' },
      ...input,
    })
    return { ...job, key: await node.registry.find(this.key, job.job_id) }
  }

  /** What its row says that workers hold, beside what they do hold. */
  async slots(): Promise<{ taken: number | null; held: number }> {
    const [row] = await this.house.query<{ taken: number | null; held: number }>(
      `SELECT (SELECT taken FROM carillon.tenant_slots WHERE tenant = $1) AS taken,
              (SELECT count(*)::int FROM carillon.queue WHERE tenant = $1 AND holder IS NOT NULL) AS held`,
      [this.key],
    )
    if (row === undefined) throw new Error('An aggregate has a row.')
    return row
  }
}
