import { setImmediate as turn } from 'node:timers/promises'
import { CarillonError, type JobInput, type OnConflict } from '@carillon/contract'
import type { Database, Runner } from '../../db/pool.js'
import { despiteDeadlocks } from '../../db/deadlock.js'
import { isAboutARow, isDeadlock } from '../../db/errors.js'
import { namesCalendar } from '../calendars.js'
import type { CalendarSet } from '../../time/schedule.js'
import type { Alike } from './alike.js'
import type { Candidate } from './candidate.js'
import { shareCalendars } from './change.js'
import { mostCharactersAtOnce } from './folding.js'
import { type Creating, eachForItself, manyInside, type Place, type Stored } from './creating.js'

/** One job of many: as it was sent, or what is wrong with it already. */
export type BulkItem = JobInput | CarillonError

export type BulkOutcome =
  | { status: 'created'; jobId: string; nextRunAt: number }
  | { status: 'skipped' }
  | { status: 'failed'; error: CarillonError }

export interface BulkOptions {
  atomic: boolean
  onConflict: OnConflict
}

/** Rows of one statement: its locks are held no longer than other callers can wait. */
const mostPerStatement = 1_000
/** Jobs that are checked in one turn of the event loop: heartbeats and renewals come between. */
const mostPerTurn = 250

/** Of a statement that Postgres gives up because of a deadlock. */
const mostTries = 3

/** Thrown to undo what an atomic call did. */
class Undone extends Error {}

/**
 * Creates many jobs of one tenant, in statements of a thousand: each for itself, or all in one transaction where they are
 * created together or not at all, where calendars must not change meanwhile, or where the caller has one.
 */
export class Bulk {
  constructor(
    private readonly database: Database,
    private readonly creating: Creating,
  ) {}

  async create(
    tenant: number,
    items: readonly BulkItem[],
    { atomic, onConflict }: BulkOptions,
    inside?: Runner,
  ): Promise<{ outcomes: BulkOutcome[]; undone: boolean }> {
    const outcomes: BulkOutcome[] = []
    const work = { tenant, items, onConflict, atomic, outcomes, termsRead: false }
    const withCalendars = items.some((item) => !(item instanceof CarillonError) && namesCalendar(item))
    if (inside === undefined && !atomic && !withCalendars) {
      await this.each(eachForItself(this.database), work, {})
      return { outcomes, undone: false }
    }
    try {
      await (inside === undefined
        ? this.inOneTransaction(work, withCalendars)
        : this.together(inside, work, withCalendars))
    } catch (error) {
      if (!(error instanceof Undone)) throw error
      return { outcomes: undoneOf(items, outcomes), undone: true }
    }
    return { outcomes, undone: false }
  }

  /** What needs no transaction is done before it begins: nobody waits for its locks meanwhile. */
  private async inOneTransaction(work: Work, withCalendars: boolean): Promise<void> {
    if (withCalendars)
      return despiteDeadlocks(() => this.database.transaction((inside) => this.together(inside, work, true)))
    const batches = await this.allChecked(eachForItself(this.database), work, {})
    // A route that a transaction makes is locked until it ends, and others who need it wait.
    for (const batch of batches) await this.creating.makeRoutes(work.tenant, batch)
    await despiteDeadlocks(() =>
      this.database.transaction((inside) => this.storeAll(manyInside(inside), work, batches)),
    )
  }

  private async together(inside: Runner, work: Work, withCalendars: boolean): Promise<void> {
    work.outcomes.length = 0
    const calendars = withCalendars ? await shareCalendars(inside, work.tenant) : {}
    const place = manyInside(inside)
    await this.storeAll(place, work, await this.allChecked(place, work, calendars))
  }

  /** All are checked before the first is stored: from then on the tenant's counter is held, and others wait for it. */
  private async allChecked(place: Place, work: Work, calendars: CalendarSet): Promise<Batch[]> {
    const batches: Batch[] = []
    for await (const batch of this.checked(place, work, calendars)) batches.push(batch)
    this.undoIfFailed(work)
    return batches
  }

  private async storeAll(place: Place, work: Work, batches: readonly Batch[]): Promise<void> {
    for (const batch of batches) await this.store(place, work, batch)
    this.undoIfFailed(work)
  }

  private undoIfFailed({ atomic, outcomes }: Work): void {
    if (atomic && Object.values(outcomes).some(({ status }) => status === 'failed')) throw new Undone()
  }

  /** While one statement is on its way the jobs of the next are checked. */
  private async each(place: Place, work: Work, calendars: CalendarSet): Promise<void> {
    let sent: Promise<void> = Promise.resolve()
    for await (const batch of this.checked(place, work, calendars)) {
      await sent
      sent = this.store(place, work, batch)
      // A failure is met at the next await; unheard until then it must not end the process.
      sent.catch(() => undefined)
    }
    await sent
  }

  /** The jobs that are fit to be stored, as many at a time as one statement takes. */
  private async *checked(place: Place, work: Work, calendars: CalendarSet): AsyncGenerator<Batch> {
    const names = new Map<string, number>()
    const checking: Checking = { calendars, names, alike: this.creating.alike(work.tenant, { calendars }) }
    let batch: Batch = []
    let characters = 0
    for (let at = 0; at < work.items.length; at++) {
      if (at % mostPerTurn === 0) {
        await turn()
        checking.alike.refresh()
      }
      const checked = this.check(place, work, checking, at)
      // Nothing is waited for but where the terms are looked at: ten thousand promises cost more than what they wait for.
      const candidate = checked instanceof Promise ? await checked : checked
      if (candidate === null) continue
      batch.push({ at, candidate })
      characters += candidate.text.length
      if (batch.length < mostPerStatement && characters < mostCharactersAtOnce) continue
      yield batch
      batch = []
      characters = 0
    }
    if (batch.length > 0) yield batch
  }

  private check(
    place: Place,
    work: Work,
    checking: Checking,
    at: number,
  ): Candidate | null | Promise<Candidate | null> {
    const { tenant, outcomes, onConflict } = work
    try {
      const item = work.items[at] as BulkItem
      if (item instanceof CarillonError) throw item
      const candidate = checking.alike.candidate(item)
      const { names } = checking
      const earlier = names.get(item.name)
      if (earlier === undefined) {
        names.set(item.name, at)
        return candidate
      }
      outcomes[at] =
        onConflict === 'skip' ? { status: 'skipped' } : { status: 'failed', error: twice(item.name, earlier) }
      return null
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error
      const fail = () => {
        outcomes[at] = { status: 'failed', error }
        return null
      }
      if (work.termsRead || error.code !== 'schedule_too_frequent') return fail()
      work.termsRead = true
      return this.creating.eased(place.runner, tenant, error).then((eased) => {
        if (!eased) return fail()
        checking.alike = this.creating.alike(tenant, { calendars: checking.calendars })
        return this.check(place, work, checking, at)
      })
    }
  }

  private async store(place: Place, work: Work, batch: Readonly<Batch>, tries = 1): Promise<void> {
    const candidates = batch.map(({ candidate }) => candidate)
    const stored = await this.creating.store(place, { tenant: work.tenant, look: false }, candidates)
    const broken: Batch = []
    let failure: unknown
    for (const [index, entry] of batch.entries()) {
      const one = stored[index]
      if (one === undefined || one.status === 'broken') {
        broken.push(entry)
        failure = one?.error
      } else work.outcomes[entry.at] = outcomeOf(one, work.onConflict)
    }
    if (broken.length === 0) return
    // Inside a transaction nothing more can be done after an error.
    if (place.runner !== this.database) throw failure
    if (isDeadlock(failure) && tries < mostTries) return this.store(place, work, broken, tries + 1)
    if (!isAboutARow(failure)) throw failure
    await this.storeApart(place, work, broken, failure)
  }

  /** One job that the tables refuse fails the whole statement: it is found by halving. */
  private async storeApart(place: Place, work: Work, batch: Readonly<Batch>, cause: unknown): Promise<void> {
    const [first] = batch
    if (first !== undefined && batch.length === 1) {
      work.outcomes[first.at] = { status: 'failed', error: new CarillonError('internal_error', { cause }) }
      return
    }
    const middle = Math.ceil(batch.length / 2)
    await this.store(place, work, batch.slice(0, middle))
    await this.store(place, work, batch.slice(middle))
  }
}

type Batch = { at: number; candidate: Candidate }[]

interface Work extends BulkOptions {
  tenant: number
  items: readonly BulkItem[]
  outcomes: BulkOutcome[]
  /** The tenant's terms were looked at, because they refused a job. Once for a call is enough. */
  termsRead: boolean
}

interface Checking {
  calendars: CalendarSet
  /** Where each name stands in the call. */
  names: Map<string, number>
  alike: Alike
}

function undoneOf(items: readonly BulkItem[], outcomes: readonly BulkOutcome[]): BulkOutcome[] {
  return items.map((_item, at) => {
    const outcome = outcomes[at]
    return outcome?.status === 'failed' ? outcome : { status: 'skipped' }
  })
}

function outcomeOf(stored: Stored, onConflict: OnConflict): BulkOutcome {
  switch (stored.status) {
    case 'created': {
      const { jobId, kind } = stored.candidate
      return { status: 'created', jobId, nextRunAt: kind.due }
    }
    case 'refused':
      return stored.error.code === 'job_name_taken' && onConflict === 'skip'
        ? { status: 'skipped' }
        : { status: 'failed', error: stored.error }
    default:
      throw new Error(`A job of many came back ${stored.status}.`)
  }
}

function twice(name: string, earlier: number): CarillonError {
  return new CarillonError('job_name_taken', {
    detail: `/jobs/${earlier} of this call is named ${JSON.stringify(name)}, too.`,
    errors: [{ pointer: '/name', message: `is the name of /jobs/${earlier}, too` }],
  })
}
