import {
  type AlertSilence,
  type AlertSilenceInput,
  type AlertSilenceList,
  CarillonError,
  limits,
} from '@carillon/contract'
import type { Logger } from 'pino'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { currentCaller } from '../../platform/caller.js'
import { jobIdOf, newUuid, silenceIdOf, uuidOfSilence } from '../../platform/ids.js'
import { utcText } from '../../time/iso-text.js'
import { audit } from '../audit.js'
import { instantOf } from '../instant-of.js'
import { reroute } from './reroute.js'

interface SilenceRow {
  silence: string
  kind: string | null
  tag: string | null
  until: number
  reason: string
  created_at: number
  created_by: string
  job_uuid: string | null
  job_name: string | null
}

interface NewSilence {
  silence: string
  tenant: number
  kind: string | null
  job: number | null
  tag: string | null
  until: number
  reason: string
  by: string
  most: number
}

const listStatement = statement<{ tenant: number; silence: string | null }, SilenceRow>(
  new URL('./list-silences.sql', import.meta.url),
)
const createStatement = statement<NewSilence, { silence: string }>(
  new URL('./create-silence.sql', import.meta.url),
)
const deleteStatement = statement<{ tenant: number; silence: string }, { silence: string }>(
  new URL('./delete-silence.sql', import.meta.url),
)
const nowStatement = statement<Record<string, never>, { now: number }>(new URL('./now.sql', import.meta.url))

export interface SilencesOptions {
  database: Database
  fleet: Database
  log: Logger
  jobOf: (tenant: number, jobId: string) => Promise<number>
}

/** What is not told for a time: raised and shown all the same. */
export class Silences {
  constructor(private readonly options: SilencesOptions) {}

  async list(tenant: number): Promise<AlertSilenceList> {
    const rows = await this.options.database.run(listStatement, { tenant, silence: null })
    return { data: rows.map(view), next_cursor: null }
  }

  async create(tenant: number, input: AlertSilenceInput): Promise<AlertSilence> {
    const { database, jobOf } = this.options
    const { kind = null, tag = null, job_id: jobId, reason } = input
    const job = jobId === undefined ? null : await jobOf(tenant, jobId)
    const silence = newUuid()
    const by = currentCaller()?.actor ?? 'local'
    const row = await database.transaction(async (runner) => {
      const until = await untilOf(runner, input.until)
      const most = limits.alertSilences
      const [made] = await runner.run(createStatement, {
        ...{ silence, tenant, kind, job, tag, until, reason, by, most },
      })
      if (made === undefined)
        throw new CarillonError('alert_limit_reached', {
          detail: `A tenant has at most ${most} silences at once.`,
        })
      await audit(runner, { tenant, subject: silenceIdOf(silence), detail: { ...input } })
      const [shown] = await runner.run(listStatement, { tenant, silence })
      return shown
    })
    await reroute(this.options, tenant)
    if (row === undefined) throw new Error('A silence that was just made is there.')
    return view(row)
  }

  async delete(tenant: number, silenceId: string): Promise<void> {
    const silence = uuidOfSilence(silenceId)
    const deleted = silence !== null && (await this.remove(tenant, silence, silenceId))
    if (!deleted) throw new CarillonError('alert_silence_not_found')
    await reroute(this.options, tenant)
  }

  private remove(tenant: number, silence: string, subject: string): Promise<boolean> {
    return this.options.database.transaction(async (runner) => {
      const [row] = await runner.run(deleteStatement, { tenant, silence })
      if (row !== undefined) await audit(runner, { tenant, subject })
      return row !== undefined
    })
  }
}

async function untilOf(runner: Runner, text: string): Promise<number> {
  const until = instantOf(text, '/until') ?? 0
  const [clock] = await runner.run(nowStatement, {})
  const now = clock?.now ?? 0
  const message =
    until <= now
      ? 'has passed'
      : until > now + limits.silenceSeconds * 1000
        ? 'is more than 90 days ahead'
        : null
  if (message === null) return until
  throw new CarillonError('validation_failed', {
    detail: `until ${message}.`,
    errors: [{ pointer: '/until', message }],
  })
}

function view(row: SilenceRow): AlertSilence {
  return {
    silence_id: silenceIdOf(row.silence),
    kind: row.kind,
    job_id: row.job_uuid === null ? null : jobIdOf(row.job_uuid),
    job_name: row.job_name,
    tag: row.tag,
    until: utcText(row.until),
    reason: row.reason,
    created_at: utcText(row.created_at),
    created_by: row.created_by,
  }
}
