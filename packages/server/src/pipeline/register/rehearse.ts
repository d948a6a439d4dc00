import type { JobDefinition, JobDryRun, JobInput, JobPatch, JobWarning } from '@carillon/contract'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { newUuid } from '../../platform/ids.js'
import { describe } from '../../time/describe.js'
import { preview } from '../../time/preview.js'
import type { CalendarSet } from '../../time/schedule.js'
import { namesCalendar, readCalendars } from '../calendars.js'
import { changing, type JobName, nameTaken } from './change.js'
import type { Quota } from './create.js'
import type { Creating } from './creating.js'
import { patchDefinition } from './definition.js'
import { type EditPorts, planAndCheck, stateAfter } from './edit.js'
import { definitionView, jobWarnings } from './job-view.js'
import { overQuota } from './quota.js'
import { changedFields } from './versions.js'

interface InTheWay {
  taken: boolean
  max_jobs: number
  room: boolean
  served: boolean
}

const rehearseStatement = statement<
  { tenant: number; name: string; uuid: string; max_jobs: number; kind: string; task: string },
  InTheWay
>(new URL('./rehearse-job.sql', import.meta.url))

const shownTicks = 10

export interface RehearsalOptions {
  database: Database
  creating: Creating
  quota: Quota
  edit: EditPorts
}

/**
 * Tries what creating or editing a job would come to: everything is checked as it would be, nothing is stored. A creation rate is not
 * counted: whoever tries takes no turn of those who create.
 */
export class Rehearsal {
  constructor(private readonly options: RehearsalOptions) {}

  async create(tenant: number, input: JobInput): Promise<JobDryRun> {
    const { database, creating } = this.options
    const calendars = namesCalendar(input)
      ? await readCalendars(database, [tenant])
      : new Map<number, CalendarSet>()
    // Reads the tenant's own terms, by which the job is then defined.
    await creating.minIntervalMs(database, tenant)
    const terms = { calendars: calendars.get(tenant) ?? {} }
    const { kind } = creating.define(tenant, input, terms)
    await creating.checkCommands(database, tenant, kind.definition)
    const uuid = newUuid()
    const {
      taken,
      room,
      max_jobs: most,
      served,
    } = await this.look(database, { tenant, uuid }, kind.definition)
    if (taken) throw nameTaken(undefined, input.name)
    if (!room) throw overQuota(most)
    return shown({ definition: kind.definition, version: 1, changed: [], from: kind.from, served, ...terms })
  }

  /** Under the locks of a real edit, which are given back without a change. */
  edit(name: JobName, patch: JobPatch, expected: { version?: number }): Promise<JobDryRun> {
    const { edit } = this.options
    return changing(edit.database, name, async (situation, calendars, runner) => {
      const change = {
        to: ({ definition: old }: { definition: JobDefinition }) => patchDefinition(old, patch),
        ...expected,
      }
      const planned = await planAndCheck(edit, situation, calendars, runner, change)
      const { definition, from } = planned ?? { definition: situation.definition, from: situation.now }
      await edit.checkAllowed(runner, name.tenant, definition)
      const { taken, served } = await this.look(runner, name, definition)
      if (taken && planned !== null && stateAfter(planned) !== 'ended')
        throw nameTaken(undefined, definition.name)
      return shown({
        definition,
        version: situation.version + (planned === null ? 0 : 1),
        changed:
          planned === null
            ? []
            : changedFields(definitionView(definition), definitionView(situation.definition)),
        from,
        served,
        calendars,
      })
    })
  }

  private async look(
    runner: Runner,
    { tenant, uuid }: JobName,
    definition: JobDefinition,
  ): Promise<InTheWay> {
    const { target, name } = definition
    const [row] = await runner.run(rehearseStatement, {
      tenant,
      name,
      uuid,
      max_jobs: this.options.quota.maxJobs,
      kind: target.type,
      task: target.type === 'task' ? target.task : '',
    })
    if (row === undefined) throw new Error(`There is no tenant ${tenant}.`)
    return row
  }
}

interface Rehearsed {
  definition: JobDefinition
  version: number
  changed: string[]
  /** The terms hold for ticks after this instant. */
  from: number
  calendars: CalendarSet
  served: boolean
}

function shown({ definition, version, changed, from, calendars, served }: Rehearsed): JobDryRun {
  const source = { ...definition, calendars }
  const n = Math.min(shownTicks, definition.max_runs ?? shownTicks)
  const { ticks, warnings } = preview(source, { from, n })
  const ofSchedule: JobWarning[] = warnings.map((message) => ({
    code: 'schedule',
    message,
    pointer: '/schedule',
  }))
  return {
    version,
    changed,
    definition: definitionView(definition),
    description: describe(source),
    ticks,
    warnings: [...ofSchedule, ...jobWarnings(definition, served)],
  }
}
