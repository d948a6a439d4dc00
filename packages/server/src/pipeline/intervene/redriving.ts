import type { Logger } from 'pino'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { parkedUntil } from '../parked.js'

const goingStatement = statement<
  Record<string, never>,
  { redrive: number; tenant: number; state: 'canary' | 'watching' | 'running' }
>(new URL('./going-redrives.sql', import.meta.url))
const moveStatement = statement<
  { redrive: number; most: number; parked_until: number },
  { moved: number; state: string }
>(new URL('./move-letters.sql', import.meta.url))
const judgeStatement = statement<{ redrive: number }, { state: string }>(
  new URL('./judge-canaries.sql', import.meta.url),
)

export interface RedrivingOptions {
  database: Database
  log: Logger
  /** Told when runs went back to the queue. */
  onRedriven: () => void
}

const mostPerStatement = 500

/**
 * Carries out re-drives of many dead letters, each at its pace. All that it knows is in the table: any scheduler goes on
 * where another one stopped, and several at once share one pace.
 */
export class Redriving {
  constructor(private readonly options: RedrivingOptions) {}

  async runOnce(): Promise<undefined> {
    const { database } = this.options
    for (const { redrive, state } of await database.run(goingStatement, {})) {
      if (state === 'watching') await this.judge(redrive)
      else await this.move(redrive)
    }
  }

  private async move(redrive: number): Promise<void> {
    const { database, log, onRedriven } = this.options
    const [batch] = await database.run(moveStatement, {
      redrive,
      most: mostPerStatement,
      parked_until: parkedUntil,
    })
    if (batch === undefined) return
    if (batch.moved > 0) onRedriven()
    if (batch.state === 'done') log.info({ redrive }, 'all dead letters of a re-drive are back in the queue')
  }

  private async judge(redrive: number): Promise<void> {
    const { database, log } = this.options
    const [judged] = await database.run(judgeStatement, { redrive })
    if (judged?.state === 'stopped')
      log.warn({ redrive }, 'a re-drive was stopped: one of its first runs did not succeed')
  }
}
