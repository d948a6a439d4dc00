import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'

const brakeStatement = statement<object, { window_factor: number; catch_up_factor: number }>(
  new URL('./read-brake.sql', import.meta.url),
)

/** The operator's order as this node last read it. Without one, everything goes at its own pace. */
export class Brake {
  windowFactor = 1
  catchUpFactor = 1

  constructor(private readonly database: Database) {}

  async runOnce(): Promise<undefined> {
    const [brake] = await this.database.run(brakeStatement, {})
    this.windowFactor = brake?.window_factor ?? 1
    this.catchUpFactor = brake?.catch_up_factor ?? 1
  }
}
