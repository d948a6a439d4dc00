import type { Runner } from '../../db/pool.js'
import { statement } from '../../db/statement.js'
import { jobIdOf } from '../../platform/ids.js'
import type { TickChange } from '../tick-changes.js'
import { utcText } from '../../time/iso-text.js'

const dropStatement = statement<
  { jobs: number[]; dues: number[]; subjects: string[]; details: string[] },
  { job: number }
>(new URL('./drop-tick-changes.sql', import.meta.url))

interface Dropped {
  situation: { job: number; uuid: string; name: string }
  dropped: readonly TickChange[]
}

/** Forgets what was asked of ticks that are gone. Nobody asked for that in so many words: an event tells. */
export async function dropTickChanges(runner: Runner, changes: readonly Dropped[]): Promise<void> {
  const all = changes.flatMap(({ situation, dropped }) => dropped.map((change) => ({ situation, change })))
  if (all.length === 0) return
  await runner.run(dropStatement, {
    jobs: all.map(({ situation }) => situation.job),
    dues: all.map(({ change }) => change.due),
    subjects: all.map(subjectOf),
    details: all.map(({ situation, change }) =>
      JSON.stringify({
        job_id: jobIdOf(situation.uuid),
        tick: utcText(change.due),
        action: change.action,
        ...(change.start_at !== null && { moved_to: utcText(change.start_at) }),
        reason: change.reason,
      }),
    ),
  })
}

function subjectOf({ situation, change }: { situation: { name: string }; change: TickChange }): string {
  const asked =
    change.start_at === null
      ? `The skip of the tick ${utcText(change.due)}`
      : `The move of the tick ${utcText(change.due)} to ${utcText(change.start_at)}`
  return `${asked} of ${situation.name} was dropped: a change of the job took the tick away, or others too close to it`
}
