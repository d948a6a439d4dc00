/** What the engine can say without a server and a database. Nothing here is heavy to load. */
export { describe, describeRules } from './describe.js'
export type { DiffRange, ScheduleDiff } from './diff.js'
export { diff, mostDifferences } from './diff.js'
export { readInstant } from './instant.js'
export type { Preview, PreviewTick } from './preview.js'
export { mostPreviewed, preview } from './preview.js'
export type {
  Calendar,
  CalendarSet,
  DroppedTick,
  RuleInput,
  RuleObject,
  Schedule,
  ScheduleInput,
  ScheduleSource,
} from './schedule.js'
export { parseSchedule } from './schedule.js'
export type { DstGap, DstOverlap } from './timeline.js'
export { dstGaps, dstOverlaps, timelineOf } from './timeline.js'
export type { OnExcluded } from './source.js'
export { excludedPolicies } from './source.js'
export { checkZone } from './zone.js'
