import type { DstGap, DstOverlap, OnExcluded } from '@carillon/contract'

export { excludedPolicies, type OnExcluded } from '@carillon/contract'

export type DayMatch = 'or' | 'and'

/** One rule, with words for its parts; a string says the same in short. */
export type RuleObject =
  | { cron: string; day_match?: DayMatch | undefined }
  | { every: string | number; anchor?: string | undefined }
  | { at: string }
  | { rrule: string; dtstart?: string | undefined }
export type RuleInput = string | RuleObject
/** Several rules are one schedule: it has the ticks of all of them. */
export type ScheduleInput = RuleInput | readonly RuleInput[]

/** Time in which nothing fires: from <= tick < to. */
export interface Blackout {
  readonly from: string
  readonly to: string
  readonly reason: string
}

export interface Calendar {
  /** "2026-12-25", or a range of days with both ends, "2026-12-24/2027-01-02". */
  readonly dates: readonly string[]
  readonly blackouts?: readonly Blackout[] | undefined
}
export type CalendarSet = Readonly<Record<string, Calendar>>

/** All that decides when a job ticks. */
export interface ScheduleSource {
  schedule: ScheduleInput
  timezone: string
  /** The instant that intervals are counted from where they name none: the job's registration. */
  anchor: number
  dst_gap?: DstGap | null | undefined
  dst_overlap?: DstOverlap | null | undefined
  /** Dates, ranges of dates and names of calendars. */
  exclude?: readonly string[] | null | undefined
  on_excluded?: OnExcluded | null | undefined
  /** A tick is in bounds from `starts_at` on and before `ends_at`. */
  starts_at?: string | null | undefined
  ends_at?: string | null | undefined
  calendars?: CalendarSet | null | undefined
}
