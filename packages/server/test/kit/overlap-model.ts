import type { OverlapPolicy } from '@carillon/contract'

/** A run in flight, as the rules see it. */
export interface ModelRun {
  due: number
  origin: 'tick' | 'trigger'
  policy: OverlapPolicy
  version: number
  /** A running place from 0 on, 'waiting' for one, or 'none': it waits for a retry, or its version has no limit. */
  place: number | 'waiting' | 'none'
  /** How many places its version has; infinite without a limit. */
  places: number
  attempt: number
  availableAt: number
  firedAt: number
  holder: number | null
  asked: boolean
}

export interface ModelRules {
  policy: OverlapPolicy
  most: number | null
  attempts: number
}

export const leaseAheadMs = 1_000

/**
 * The rules of overlap for one job, in plain words of code: what becomes of a run that arrives, which runs may go on, who
 * comes next. No database, no locks, one thing after another.
 */
export class OverlapModel {
  runs: ModelRun[] = []
  /** What the ledger must say, since it was last asked. */
  notes: string[] = []
  version = 1

  constructor(
    public rules: ModelRules,
    public cursor: number,
    private readonly periodMs: number,
  ) {}

  private get places(): number {
    return this.rules.policy === 'ALLOW' ? (this.rules.most ?? Number.POSITIVE_INFINITY) : 1
  }

  // ── Ticks ────────────────────────────────────────────────────────────────────────────────────────────────

  /** Whether the tick at the cursor may be put into the queue before its instant: only into a place that is free. */
  mayStage(now: number): boolean {
    return this.roomFor(now) !== null
  }

  stage(now: number): void {
    const place = this.roomFor(now)
    if (place === null) throw new Error('There is no room to stage in.')
    this.add('tick', this.cursor, place, now)
    this.cursor += this.periodMs
  }

  /** The instant of the tick at the cursor has come. */
  tick(now: number): void {
    if (this.cursor > now) return
    const place = this.roomFor(now)
    if (place !== null) return this.stage(now)
    // Carillon itself was late: the tick waits its turn.
    if (this.runs.some((run) => isRunning(run) && run.firedAt > this.cursor)) return
    this.arrive('tick', this.cursor, now)
    this.cursor += this.periodMs
  }

  // ── Triggers ─────────────────────────────────────────────────────────────────────────────────────────────

  trigger(now: number): void {
    const staged = this.runs.find((run) => run.origin === 'tick' && isStaged(run, now))
    if (staged !== undefined && (this.roomFor(now) === null || this.replaces(now).length > 0)) {
      this.remove(staged)
      this.cursor = staged.due
    }
    this.arrive('trigger', now, now)
  }

  /** A run comes, now: it runs, waits, replaces or is passed over. */
  private arrive(origin: ModelRun['origin'], due: number, now: number): void {
    const { policy } = this.rules
    if (policy === 'REPLACE') {
      for (const older of this.replaces(now)) this.replace(older)
      const free = this.goingOn(now).length === 0
      return this.add(origin, due, free ? 0 : 'waiting', now)
    }
    const place = this.roomFor(now)
    if (place !== null) return this.add(origin, due, place, now)
    const waiting = this.runs.find((run) => run.place === 'waiting')
    if (policy === 'QUEUE' && waiting === undefined) return this.add(origin, due, 'waiting', now)
    if (policy === 'QUEUE' && waiting !== undefined && this.goingOn(now).length === 0) {
      waiting.place = 0
      return this.add(origin, due, 'waiting', now)
    }
    this.note(due, origin, 'skipped', 'overlap', true)
  }

  /** The place that a run would have at once: the lowest, while nothing of an older version goes on beyond the places. */
  private roomFor(now: number): number | 'none' | null {
    const { places } = this
    if (places === Number.POSITIVE_INFINITY) return 'none'
    const beyond = this.goingOn(now).some(({ place }) => place === 'none' || (place as number) >= places)
    if (beyond) return null
    // With one place nobody overtakes the one that waits for it; a newer one replaces also what waits for its retry.
    if (places === 1 && this.runs.some(({ place }) => place === 'waiting')) return null
    if (this.rules.policy === 'REPLACE' && this.replaces(now).length > 0) return null
    return this.lowestFree(places)
  }

  private lowestFree(places: number, from = 0): number | null {
    for (let place = from; place < places; place++) {
      if (!this.runs.some((run) => run.place === place)) return place
    }
    return null
  }

  private goingOn(now: number): ModelRun[] {
    return this.runs.filter((run) => isRunning(run) || isUnlimitedGoingOn(run, now))
  }

  /** What a newer run replaces: all but what was made for a time ahead, and unlimited ones that wait for a retry. */
  private replaces(now: number): ModelRun[] {
    if (this.rules.policy !== 'REPLACE') return []
    return this.runs.filter(
      (run) =>
        !(run.origin === 'tick' && run.attempt === 1 && run.due > now) &&
        !(isUnlimited(run) && !isUnlimitedGoingOn(run, now)),
    )
  }

  private replace(run: ModelRun): void {
    if (run.holder !== null) {
      run.asked = true
      return
    }
    this.end(run, 'cancelled', 'replaced')
  }

  // ── Workers ──────────────────────────────────────────────────────────────────────────────────────────────

  /** A worker takes what it may. Answers what it took. */
  lease(holder: number, now: number): ModelRun[] {
    const free = this.runs.filter((run) => run.holder === null)
    const placed = free.filter((run) => !needsPlace(run) && run.availableAt <= now + leaseAheadMs)
    const taken = [...placed, ...this.givePlaces(free.filter(needsPlace), now)]
    for (const run of taken) run.holder = holder
    return taken
  }

  private givePlaces(needing: ModelRun[], now: number): ModelRun[] {
    const candidates = needing
      .filter((run) => run.availableAt <= now && this.lowestFree(run.places) !== null)
      .filter((run) => !this.olderBeyond(run, now))
      .sort((a, b) => a.availableAt - b.availableAt || a.due - b.due)
    const most = Math.max(0, ...candidates.map(({ places }) => places))
    const places: number[] = []
    for (let place = this.lowestFree(most); place !== null; place = this.lowestFree(most, place + 1))
      places.push(place)
    return candidates.filter((run, turn) => {
      const place = places[turn]
      if (place === undefined || place >= run.places) return false
      run.place = place
      return true
    })
  }

  private olderBeyond({ version, places }: ModelRun, now: number): boolean {
    return this.goingOn(now).some(
      (other) => other.version < version && (other.place === 'none' || (other.place as number) >= places),
    )
  }

  succeed(run: ModelRun): void {
    this.end(run, 'success', null)
  }

  cancelled(run: ModelRun): void {
    this.end(run, 'cancelled', 'replaced')
  }

  fail(run: ModelRun, retryAt: number): void {
    const last = run.attempt >= this.rules.attempts
    if (last) return this.end(run, run.asked ? 'failed' : 'dead', 'task_error')
    if (run.asked) return this.end(run, 'failed', 'task_error')
    this.note(run.due, run.origin, 'failed', 'task_error', false)
    Object.assign(run, { attempt: run.attempt + 1, place: 'none', availableAt: retryAt, holder: null })
  }

  handBack(run: ModelRun): void {
    if (run.asked) this.end(run, 'cancelled', 'cancel_requested')
    else run.holder = null
  }

  /** The worker is gone: what it had begun has lost an attempt and keeps its place. */
  rescue(holder: number, now: number): void {
    for (const run of this.runs.filter((other) => other.holder === holder)) {
      if (run.availableAt > now) this.handBack(run)
      else if (run.asked) this.end(run, 'failed', 'worker_lost')
      else if (run.attempt >= this.rules.attempts) this.end(run, 'dead', 'worker_lost')
      else {
        this.note(run.due, run.origin, 'failed', 'worker_lost', false)
        run.attempt += 1
        run.holder = null
      }
    }
  }

  // ── People ───────────────────────────────────────────────────────────────────────────────────────────────

  /** What is staged comes again under the new rules; every other run keeps those it was fired with. */
  edit(rules: ModelRules, now: number): void {
    if (rules.policy === this.rules.policy && rules.most === this.rules.most) return
    for (const run of this.runs.filter((other) => other.origin === 'tick' && isStaged(other, now))) {
      this.remove(run)
      this.cursor = Math.min(this.cursor, run.due)
    }
    this.rules = rules
    this.version += 1
  }

  private add(origin: ModelRun['origin'], due: number, place: ModelRun['place'], now: number): void {
    this.runs.push({
      due,
      origin,
      policy: this.rules.policy,
      version: this.version,
      place,
      places: this.places,
      attempt: 1,
      availableAt: due,
      firedAt: now,
      holder: null,
      asked: false,
    })
  }

  private end(run: ModelRun, outcome: string, reason: string | null): void {
    this.remove(run)
    this.note(run.due, run.origin, outcome, reason, true)
  }

  private remove(run: ModelRun): void {
    this.runs = this.runs.filter((other) => other !== run)
  }

  private note(due: number, origin: string, outcome: string, reason: string | null, final: boolean): void {
    this.notes.push(noteText({ due, origin, outcome, reason, final }))
  }
}

export interface Note {
  due: number
  origin: string
  outcome: string
  reason: string | null
  final: boolean
}

export function noteText({ due, origin, outcome, reason, final }: Note): string {
  return `${origin} ${due} ${outcome} ${reason ?? '-'}${final ? '' : ', not final'}`
}

function isRunning({ place }: ModelRun): boolean {
  return typeof place === 'number'
}

function isUnlimited({ places }: ModelRun): boolean {
  return places === Number.POSITIVE_INFINITY
}

function isUnlimitedGoingOn(run: ModelRun, now: number): boolean {
  return isUnlimited(run) && (run.holder !== null || run.attempt === 1 || run.availableAt <= now)
}

function needsPlace(run: ModelRun): boolean {
  return !isUnlimited(run) && !isRunning(run)
}

function isStaged(run: ModelRun, now: number): boolean {
  return run.holder === null && run.attempt === 1 && run.availableAt > now
}
