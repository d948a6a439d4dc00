/** A tick that a rule names and that is dropped all the same. */
export interface DroppedTick {
  /** For a reading that the clocks jump over: when they jump. For an excluded tick: the instant it would have had. */
  at: number
  /** The reading on the wall that the rule names. */
  wall: number
  reason: 'dst_gap' | 'excluded'
  /** What excludes it: a date, a calendar, the reason of a blackout. */
  detail?: string
}

/** The times of one day, ascending, in milliseconds after midnight. Equal keys mean equal lists. */
export interface TimesOfDay {
  readonly key: string
  list(): readonly number[]
}

/**
 * A set of ticks: instants in rising order. Every question is answered by arithmetic over days, months and segments,
 * never tick by tick.
 */
export interface Ticks {
  /** The first tick strictly after an instant. */
  next(after: number): number | null
  /** The last tick at or before an instant. */
  prev(atOrBefore: number): number | null
  /** How many ticks there are from one instant to another, both included. */
  count(from: number, to: number): number
  /** Ticks dropped after `from` and up to `to`, in order, at most `most`. */
  dropped(from: number, to: number, most: number): DroppedTick[]
}

/** The ticks of one rule, or of several together, before anything is excluded from them. */
export interface RuleTicks extends Ticks {
  /** The readings on the wall by which the rule names this tick: others than the clocks show when they jumped. */
  nominal(tick: number): number[]
  /** The ticks of a day on which the clocks are steadily `offset` ahead of UTC, or null when there is none. */
  timesOn(day: number, offset: number): TimesOfDay | null
}

/** A set of readings on the wall, without a zone. */
export interface WallRule {
  /**
   * Whether both readings of an overlap count and nothing replaces what a gap leaves out: true for rules that run
   * in every hour, which so stay hourly.
   */
  readonly followsWall: boolean
  nextWall(after: number): number | null
  prevWall(atOrBefore: number): number | null
  countWalls(from: number, to: number): number
  timesOn(day: number): TimesOfDay | null
}
