import type { Logger } from 'pino'
import { codeOf } from '../../db/errors.js'
import type { Database } from '../../db/pool.js'
import { statement } from '../../db/statement.js'

const makeDaysStatement = statement<{ days_ahead: number }, { made: number }>(
  new URL('./make-ledger-days.sql', import.meta.url),
)
const dropDaysStatement = statement<{ retention_days: number }, { dropped: number }>(
  new URL('./drop-ledger-days.sql', import.meta.url),
)
const collectStatement = statement<{ retention_ms: number; most: number }, { job: number }>(
  new URL('./collect-jobs.sql', import.meta.url),
)
const forgetStatement = statement<{ retention_ms: number; most: number }, { forgotten: number }>(
  new URL('./forget-collected.sql', import.meta.url),
)
const forgetSecretsStatement = statement<{ most: number }, never>(
  new URL('./forget-secrets.sql', import.meta.url),
)
const forgetEffectsStatement = statement<{ retention_ms: number; most: number }, { job: number }>(
  new URL('./forget-effects.sql', import.meta.url),
)

const forgetWorkersStatement = statement<{ retention_ms: number; most: number }, { incarnation: number }>(
  new URL('./forget-workers.sql', import.meta.url),
)

const forgetAnswersStatement = statement<{ retention_ms: number; most: number }, { key: string }>(
  new URL('./forget-answers.sql', import.meta.url),
)

export interface UpkeepOptions {
  database: Database
  log: Logger
  ledgerDaysAhead: number
  ledgerRetentionDays: number
  oneOffRetentionHours: number
}

const mostPerStatement = 1_000
const dayMs = 86_400_000
/** So long after its end a worker over HTTP is still told that it is gone. */
const workerRetentionMs = 3_600_000

/** So long an idempotency key is known, at least. */
const answerRetentionMs = dayMs

/** Keeps the house in bounds: ledger days made ahead and dropped after their time, ended one-offs collected. */
export class Upkeep {
  constructor(private readonly options: UpkeepOptions) {}

  /** The ledger's days ahead: all that must be there before anything fires. */
  async makeDays(): Promise<void> {
    const { database, log, ledgerDaysAhead } = this.options
    const [days] = await this.unlessRead(database.run(makeDaysStatement, { days_ahead: ledgerDaysAhead }))
    if (days !== undefined && days.made > 0) log.debug({ days: days.made }, 'made ledger partitions')
  }

  /** Answers true when there is more to collect. */
  async runOnce(): Promise<boolean> {
    const { database, log, ledgerRetentionDays, oneOffRetentionHours } = this.options
    await this.makeDays()
    const [old] = await this.unlessRead(
      database.run(dropDaysStatement, { retention_days: ledgerRetentionDays }),
    )
    if (old !== undefined && old.dropped > 0)
      log.info({ days: old.dropped }, 'dropped ledger days past the retention')
    const collected = await database.run(collectStatement, {
      retention_ms: oneOffRetentionHours * 3_600_000,
      most: mostPerStatement,
    })
    if (collected.length > 0) log.info({ jobs: collected.length }, 'collected the definitions of ended jobs')
    await database.run(forgetSecretsStatement, { most: mostPerStatement })
    const [gone] = await database.run(forgetStatement, {
      retention_ms: (ledgerRetentionDays + 1) * dayMs,
      most: mostPerStatement,
    })
    const effects = await database.run(forgetEffectsStatement, {
      retention_ms: ledgerRetentionDays * dayMs,
      most: mostPerStatement,
    })
    const workers = await database.run(forgetWorkersStatement, {
      retention_ms: workerRetentionMs,
      most: mostPerStatement,
    })
    const answers = await database.run(forgetAnswersStatement, {
      retention_ms: answerRetentionMs,
      most: mostPerStatement,
    })
    const counts = [collected.length, gone?.forgotten, effects.length, workers.length, answers.length]
    return counts.some((count) => count === mostPerStatement)
  }

  /** Somebody holds the ledger in a long read: the next pass finds it free. Waiting would hold up every close. */
  private async unlessRead<Row>(work: Promise<Row[]>): Promise<Row[]> {
    try {
      return await work
    } catch (error) {
      if (codeOf(error) !== lockNotAvailable) throw error
      this.options.log.warn('the ledger is being read: its days are made and dropped in the next pass')
      return []
    }
  }
}

const lockNotAvailable = '55P03'
