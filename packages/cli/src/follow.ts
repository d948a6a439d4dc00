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
      if (await interrupted.within(options.everyMs ?? usualPaceMs)) {
        progress.stop()
        return await afterInterruption(work, options)
      }
      work = await options.look()
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
  const signalled = new Promise<true>((resolve) => {
    fire = () => resolve(true)
  })
  process.on('SIGINT', fire)
  return {
    async within(ms: number): Promise<boolean> {
      let timer: NodeJS.Timeout | undefined
      const passed = new Promise<false>((resolve) => {
        timer = setTimeout(() => resolve(false), ms)
      })
      try {
        return await Promise.race([signalled, passed])
      } finally {
        clearTimeout(timer)
      }
    },
    stop: () => void process.off('SIGINT', fire),
  }
}
