import type { JobDefinition } from '@carillon/contract'
import { wholeDefinition } from '../../src/db/stored-definition.js'
import { utcText } from '../../src/time/iso-text.js'
import { epoch } from './clock.js'

/** What is known of a job without the engine: its ticks are plain arithmetic. */
export interface Expected {
  job: number
  partition: number
  ticks: readonly number[]
  definition: JobDefinition
}

/** The partitions that have jobs. The others are owned as well, but nothing happens in them: the store leaves them out. */
export const partitions = [3, 77, 150, 201] as const

const shapes: Partial<JobDefinition>[] = [
  { overlap_policy: 'SKIP', max_retries: 0, on_lost: 'retry' },
  { overlap_policy: 'SKIP', max_retries: 1, on_lost: 'retry' },
  { overlap_policy: 'SKIP', max_retries: 2, on_lost: 'fail' },
  { overlap_policy: 'ALLOW', max_retries: 1, on_lost: 'retry' },
  { overlap_policy: 'ALLOW', max_retries: 1, on_lost: 'retry', max_concurrent: 2 },
]

function made(
  at: number,
  everyMs: number,
  count: number,
  shape: Partial<JobDefinition>,
): Omit<Expected, 'job' | 'partition'> {
  const ticks = Array.from({ length: count }, (_, turn) => epoch + (turn + 1) * everyMs)
  const last = ticks.at(-1) as number
  const definition = wholeDefinition({
    ...{ name: `job-${at}`, anchor: epoch, target: { type: 'task', task: 'task' }, timeout_seconds: 60 },
    ...{ missed_window: 'SKIP', retry_backoff: 'fixed', retry: { base_ms: 300, factor: 1, cap_ms: 300 } },
    ...(count === 1
      ? { schedule: utcText(last), ends_at: null }
      : { schedule: `@every ${everyMs / 1000}s`, ends_at: utcText(last + 1) }),
    ...shape,
  }) as unknown as JobDefinition
  return { ticks, definition }
}

/** Made once: every history takes some of them, and the engine keeps what it has read of each. */
export const templates = shapes.flatMap((shape, at) => [
  made(at, 1_000, 3, shape),
  made(at, 2_000, 2, shape),
  made(at, 1_500, 1, shape),
])
