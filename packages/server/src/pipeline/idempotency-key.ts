import { renderTemplate } from '../time/template.js'
import type { RunDefinition } from './run.js'

/**
 * The key of a run, the same for each of its attempts. A run beside the schedule has a key of its own: it must not pass for
 * the tick of the same day, week or hour.
 */
export function idempotencyKeyOf(
  run: { due: number; origin: number; seq: number },
  { jobId, definition }: RunDefinition,
): string {
  const key = renderTemplate(definition.idempotency_key_template, {
    jobId,
    scheduledAt: run.due,
    timezone: definition.timezone,
  })
  return run.origin === 0 ? key : `${key}:${run.origin}.${run.seq}`
}
