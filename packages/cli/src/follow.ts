import { setTimeout } from 'node:timers/promises'
import { canAsk, confirm } from './confirm.js'
import type { Output } from './output/output.js'
import { progressOf } from './output/progress.js'

/** Work that a server does in the background. */
export interface Work {
  readonly state: string
  readonly total: number
  readonly done: number
  readonly failed: number
}

export interface FollowOptions<Kind extends Work> {
  /** "pausing", for the bar. */
  readonly label: string
  readonly output: Output
  look(): Promise<Kind>
  cancel(): Promise<Kind>
  /** How to come back to it: a command. */
  readonly later: string
  readonly everyMs?: number
}

const usualPaceMs = 500
const going = new Set(['running', 'paused'])

/**
 * Looks until the work has ended, with a bar at a terminal. Ctrl-C asks whether the work itself is to be cancelled: the
 * server goes on with it otherwise, whoever looks.
 */
export async function follow<Kind extends Work>(first: Kind, options: FollowOptions<Kind>): Promise<Kind> {
  const { output, label } = options
  const progress = progressOf(label, first.total)
  const interrupted = interruption()
  let work = first
  try {
    while (going.has(work.state)) {
      progress.to(work.done, work.total, work.failed === 0 ? '' : `✗${work.failed}`)
      const isTime = await interrupted.before(() => setTimeout(options.everyMs ?? usualPaceMs, true))
      const next = isTime === null ? null : await interrupted.before(() => options.look())
      if (next === null) {
        progress.stop()
        return await afterInterruption(work, options)
      }
      work = next
    }
    return work
  } finally {
    progress.stop()
    interrupted.stop()
    if (output.json && going.has(work.state)) output.note(options.later)
  }
}

async function afterInterruption<Kind extends Work>(work: Kind, options: FollowOptions<Kind>): Promise<Kind> {
  const question = `\nIt is at ${work.done} of ${work.total}. Cancel the rest on the server?`
  if (canAsk() && (await confirm(question, {}))) return options.cancel()
  options.output.note(`It goes on in the background. See: ${options.later}`)
  process.exitCode = 130
  return work
}

function interruption() {
  let fire: () => void = () => undefined
  const signalled = new Promise<null>((resolve) => {
    fire = () => resolve(null)
  })
  // Once: a second Ctrl-C ends the command, whatever it waits for.
  process.once('SIGINT', fire)
  return {
    /** What `work` comes to; null where the person was faster, also than a server that does not answer. */
    async before<Result>(work: () => Promise<Result>): Promise<Result | null> {
      const working = work()
      // Nobody waits for it any more, then.
      working.catch(() => undefined)
      return Promise.race([signalled, working])
    },
    stop: () => void process.off('SIGINT', fire),
  }
}
