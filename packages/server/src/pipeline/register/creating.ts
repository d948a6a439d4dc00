import { CarillonError, type JobDefinition, type JobInput } from '@carillon/contract'
import type { Database, Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { newUuid } from '../../platform/ids.js'
import { type Answer, keyInUse } from '../idempotency.js'
import { Alike } from './alike.js'
import { type Candidate, type CandidateOptions, candidateOf, type Terms } from './candidate.js'
import { nameTaken } from './change.js'
import { createJobs, type Fate, type Quota } from './create.js'
import { createFreshJobs, FreshNames, isNotFresh } from './create-fresh.js'
import { createPlacedJobs, placedBy } from './create-placed.js'
import { giveBack, overQuota, overRate, recount } from './quota.js'
import type { Routes } from './routes.js'

const settingsStatement = statement<
  { tenant: number },
  { min_interval_seconds: number | null; allow_commands: boolean }
>(new URL('./tenant-settings.sql', import.meta.url))

/** Where statements run: each for itself, or all inside one transaction. */
export interface Place {
  runner: Runner
  /** Each statement is a transaction of its own. */
  alone: boolean
  /** Where a statement may be tried that perhaps fails: it undoes nothing but itself. Null: nowhere here. */
  trial: (<Result>(work: () => Promise<Result>) => Promise<Result>) | null
  transaction<Result>(work: (inside: Runner) => Promise<Result>): Promise<Result>
}

export function eachForItself(database: Database): Place {
  return {
    runner: database,
    alone: true,
    trial: (work) => work(),
    transaction: (work) => database.transaction(work),
  }
}

export function allInside(inside: Runner): Place {
  return { runner: inside, alone: false, trial: null, transaction: (work) => work(inside) }
}

/** As allInside, for so many jobs that it pays to go back, perhaps, to before their statement. */
export function manyInside(inside: Runner): Place {
  const trial: Place['trial'] = inside.apart === undefined ? null : inside.apart.bind(inside)
  return { ...allInside(inside), trial }
}

/** What became of a job that was to be stored. */
export type Stored =
  | { status: 'created'; candidate: Candidate; served: boolean }
  /** Its idempotency key has an answer. */
  | { status: 'known'; known: Answer & { request: Buffer } }
  | { status: 'refused'; error: CarillonError }
  /** The statement that it was in failed. */
  | { status: 'broken'; error: unknown }

interface Open {
  at: number
  candidate: Candidate
}

/** Before the next round the jobs are to be counted; they were, because the quota was reached. */
interface Next {
  recount?: boolean
  counted?: boolean
}

export interface CreatingOptions extends CandidateOptions {
  routes: Routes
  quota: Quota
  /** Told how many jobs go into one batch. */
  onBatch?: (jobs: number) => void
}

/** Terms that change under our eyes, a counter to be made, a recount: each asks for one more round. */
const mostRounds = 6

/**
 * Checks jobs and stores them. Nothing is asked of the database before the one statement that stores: what a tenant has of
 * its own is remembered from the statement before, and the statement refuses jobs that were checked by something else.
 */
export class Creating {
  private readonly ownIntervals = new Map<number, number | null>()
  private readonly freshNames = new FreshNames()

  constructor(private readonly options: CreatingOptions) {}

  define(
    tenant: number,
    input: JobInput,
    terms: Omit<Terms, 'minInterval'> = {},
    uuid = newUuid(),
  ): Candidate {
    return candidateOf(this.options, input, { ...terms, minInterval: this.ownInterval(tenant) }, uuid)
  }

  /** For the jobs of one call, by the terms of now. */
  alike(tenant: number, terms: Omit<Terms, 'minInterval'>): Alike {
    return new Alike(this.options, { ...terms, minInterval: this.ownInterval(tenant) })
  }

  /** Whether terms that refused a job are no longer those of its tenant, so that it may be checked again. */
  async eased(runner: Runner, tenant: number, error: unknown): Promise<boolean> {
    if (!(error instanceof CarillonError) || error.code !== 'schedule_too_frequent') return false
    const before = this.ownInterval(tenant)
    return (await this.readOwnInterval(runner, tenant)) !== before
  }

  /** The shortest time between two ticks that a tenant may ask for, as it is now. */
  async minIntervalMs(runner: Runner, tenant: number): Promise<number> {
    const own = await this.readOwnInterval(runner, tenant)
    return own === null ? this.options.minIntervalMs : own * 1000
  }

  /** Programs on the machines of the fleet are for those tenants whom its people allow it. */
  async checkCommands(
    runner: Runner,
    tenant: number,
    { target }: Pick<JobDefinition, 'target'>,
  ): Promise<void> {
    if (target.type !== 'command') return
    const [settings] = await runner.run(settingsStatement, { tenant })
    if (settings?.allow_commands !== true) throw commandsNotAllowed()
  }

  private async readOwnInterval(runner: Runner, tenant: number): Promise<number | null> {
    const [settings] = await runner.run(settingsStatement, { tenant })
    const own = settings?.min_interval_seconds ?? null
    this.ownIntervals.set(tenant, own)
    return own
  }

  /**
   * In the order of the candidates, all of one tenant. Never throws: what one round stored is stored, also when the next
   * one fails.
   */
  async store(
    place: Place,
    call: { tenant: number; look: boolean },
    candidates: readonly Candidate[],
  ): Promise<Stored[]> {
    this.options.onBatch?.(candidates.length)
    const stored: Stored[] = []
    let open: Open[] = candidates.map((candidate, at) => ({ at, candidate }))
    let next: Next = {}
    try {
      open = await this.withoutForbidden(place.runner, call.tenant, open, stored)
      for (let round = 1; open.length > 0; round++) {
        if (round > mostRounds) throw new Error(`Jobs of tenant ${call.tenant} came to no end.`)
        if (next.recount === true) await place.transaction((inside) => recount(inside, call.tenant))
        const remaining = this.byTheTermsOfNow(call.tenant, open, stored)
        const last: Next = next
        open = remaining
        const fates = await this.send(place, call, remaining)
        next = this.judge(call.tenant, fates, last)
        open = remaining.filter(({ at, candidate }, index) => {
          const fate = fates[index]
          if (fate === undefined) throw new Error('The statement forgot a job.')
          if (isOpen(fate, last)) return true
          stored[at] = settled(candidate, fate)
          return false
        })
      }
    } catch (error) {
      for (const { at } of open) stored[at] = { status: 'broken', error }
    }
    return stored
  }

  /** From then on they are known here, also to a transaction. */
  async makeRoutes(tenant: number, batch: readonly { candidate: Candidate }[]): Promise<void> {
    await this.options.routes.make(
      tenant,
      batch.map(({ candidate }) => candidate.kind.definition),
    )
  }

  private async withoutForbidden(
    runner: Runner,
    tenant: number,
    open: Open[],
    stored: Stored[],
  ): Promise<Open[]> {
    const command = open.find(({ candidate }) => runsCommand(candidate))
    if (command === undefined) return open
    try {
      await this.checkCommands(runner, tenant, command.candidate.kind.definition)
      return open
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error
      return open.filter(({ at, candidate }) => {
        if (runsCommand(candidate)) stored[at] = { status: 'refused', error }
        return !runsCommand(candidate)
      })
    }
  }

  private async send(
    { runner, alone, trial }: Place,
    { tenant, look }: { tenant: number; look: boolean },
    open: readonly Open[],
  ): Promise<Fate[]> {
    if (open.length === 0) return []
    const candidates = open.map(({ candidate }) => candidate)
    const definitions = candidates.map(({ kind }) => kind.definition)
    const routes = await this.options.routes.ofMany(tenant, definitions, runner)
    const call = { tenant, look, quota: this.options.quota }
    if (trial !== null && this.freshNames.likely(tenant)) {
      try {
        const caller = alone ? placedBy(call, candidates) : null
        const created = await (caller === null
          ? trial(() => createFreshJobs(runner, call, candidates, routes))
          : createPlacedJobs(runner, call, { candidates, routes, caller }))
        if (created !== null) return created
      } catch (error) {
        if (!isNotFresh(error)) throw error
        this.freshNames.wasTaken(tenant)
      }
    }
    const fates = await createJobs(runner, call, candidates, routes)
    const unused = fates.flatMap((fate) => (fate.outcome === 'taken' ? [fate.countedAt] : []))
    const [countedAt] = unused
    if (countedAt !== undefined) {
      // Lost, it is found by the next count; the jobs are stored all the same.
      await giveBack(runner, tenant, { places: unused.length, countedAt }).catch(() => undefined)
    }
    return fates
  }

  private judge(tenant: number, fates: readonly Fate[], last: Next): Next {
    for (const fate of fates)
      if (fate.outcome === 'other_terms') this.ownIntervals.set(tenant, fate.minInterval)
    const full = fates.some(({ outcome }) => outcome === 'over_quota')
    const uncounted = fates.some(({ outcome }) => outcome === 'uncounted')
    return { recount: full || uncounted, counted: last.counted === true || full }
  }

  /** A tenant's own least interval as the statement last told it; null is the server's. */
  private ownInterval(tenant: number): number | null {
    return this.ownIntervals.get(tenant) ?? null
  }

  /** Jobs that were checked by terms of before are checked again. */
  private byTheTermsOfNow(tenant: number, open: Open[], stored: Stored[]): Open[] {
    const minInterval = this.ownInterval(tenant)
    if (open.every(({ candidate }) => candidate.terms.minInterval === minInterval)) return open
    return open.flatMap(({ at, candidate }) => {
      const { input, terms, uuid, caller } = candidate
      if (terms.minInterval === minInterval) return [{ at, candidate }]
      try {
        // Whoever called for it: several calls may share a statement.
        return [{ at, candidate: candidateOf(this.options, input, { ...terms, minInterval }, uuid, caller) }]
      } catch (error) {
        if (!(error instanceof CarillonError)) throw error
        stored[at] = { status: 'refused', error }
        return []
      }
    })
  }
}

/** A tenant at its quota is refused only after its jobs were counted. */
function isOpen({ outcome }: Fate, { counted = false }: Next): boolean {
  return outcome === 'other_terms' || outcome === 'uncounted' || (outcome === 'over_quota' && !counted)
}

function settled(candidate: Candidate, fate: Fate): Stored {
  switch (fate.outcome) {
    case 'created':
      return { status: 'created', candidate, served: fate.served }
    case 'known':
      return { status: 'known', known: fate.known }
    case 'taken':
      return { status: 'refused', error: nameTaken(undefined, candidate.input.name) }
    case 'key_in_use':
      return { status: 'refused', error: keyInUse(candidate.terms.call?.key ?? '') }
    case 'over_quota':
      return { status: 'refused', error: overQuota(fate.maxJobs) }
    case 'over_rate':
      return { status: 'refused', error: overRate(fate.waitMs) }
    default:
      throw new Error(`A job that is ${fate.outcome} is not settled.`)
  }
}

function runsCommand({ kind }: Candidate): boolean {
  return kind.definition.target.type === 'command'
}

function commandsNotAllowed(): CarillonError {
  return new CarillonError('invalid_target', {
    detail: 'This tenant may not register jobs that run programs on the machines of the fleet.',
    hint: 'Use an http or task target, or ask an admin of the tenant `default` to allow it: allow_commands of the tenant.',
    errors: [{ pointer: '/target/type', message: 'command is not allowed for this tenant' }],
  })
}
