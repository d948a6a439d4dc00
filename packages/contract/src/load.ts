import { type Static, Type } from 'typebox'
import { stringEnum } from './string-enum.js'

const instant = (description: string) => Type.String({ format: 'date-time', description })
const count = (description: string) => Type.Integer({ minimum: 0, description })
const namedJobs = Type.Array(Type.Object({ job_id: Type.String(), name: Type.String() }))

/** How many ticks start when. */
export const LoadForecast = Type.Object(
  {
    by: stringEnum(['minute', 'hour']),
    from: instant('The beginning of the first bucket'),
    to: instant('The end of the last bucket'),
    jobs: count('Active jobs that it is about'),
    buckets: Type.Array(
      Type.Object({ at: instant('Where the bucket begins'), firings: count('Ticks that start in it') }),
    ),
    hottest: Type.Array(
      Type.Object({
        at: instant('The second'),
        firings: count('Ticks that start in it'),
        sample: namedJobs,
      }),
      { description: 'The seconds in which most ticks start' },
    ),
    sampled: Type.Boolean({ description: 'Computed from a part of the jobs, and scaled up' }),
  },
  { $id: 'LoadForecast' },
)
export type LoadForecast = Static<typeof LoadForecast>

/** What jitter would do about the hottest seconds of the next 24 hours. */
export const LoadSuggestion = Type.Object(
  {
    from: instant('The first second that was looked at'),
    to: instant('The end'),
    peak_before: count('Ticks that start in the hottest second'),
    peak_after: count('Ticks that would, if every suggestion was followed'),
    suggestions: Type.Array(
      Type.Object({
        schedule: Type.Unknown({ description: 'The schedule that the jobs share' }),
        timezone: Type.String(),
        jobs: count('Jobs that have it, and no jitter'),
        jitter_seconds: Type.Integer({ minimum: 1, description: 'What to give each of them' }),
        hottest_at: instant('A second in which they start together'),
        before: count('Ticks that start in that second'),
        after: count('Ticks that would'),
        sample: namedJobs,
      }),
      { description: 'The heaviest first; none where no second is hot' },
    ),
    sampled: Type.Boolean(),
  },
  { $id: 'LoadSuggestion' },
)
export type LoadSuggestion = Static<typeof LoadSuggestion>
