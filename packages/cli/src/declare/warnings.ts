import type { Job } from '@carillon/sdk'
import type { Colors } from '../output/look.js'
import { visible } from '../output/visible.js'
import type { Step } from './plan.js'

/** What the server has to say about a job that it took: nobody runs its commands, say. */
export interface WarnedJob {
  readonly name: string
  readonly job_id: string
  readonly code: string
  readonly message: string
  readonly hint?: string
}

export function warningsOfJob({ name, job_id: jobId, warnings }: Job): WarnedJob[] {
  return warnings.map((warning) => ({ name, job_id: jobId, ...warning }))
}

/** Of jobs that stay as they are: a second import of the same file says them again. */
export function warningsOfKept(steps: readonly Step[]): WarnedJob[] {
  return steps.flatMap((step) => (step.action === 'keep' ? warningsOfJob(step.job) : []))
}

const mostNames = 3

/** A line for every warning, and not for every job that it is about. */
export function warningLines(warned: readonly WarnedJob[], { yellow }: Colors): string[] {
  const groups = new Map<string, WarnedJob[]>()
  for (const one of warned) {
    const key = JSON.stringify([one.code, one.message, one.hint])
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  return [...groups.values()].map((group) => {
    const names = group.slice(0, mostNames).map(({ name }) => name)
    const more = group.length > mostNames ? ` and ${group.length - mostNames} more` : ''
    const [{ code = '', message = '', hint } = {}] = group
    const advice = hint === undefined ? '' : ` ${hint}`
    return yellow(visible(`! ${names.join(', ')}${more}: ${message}${advice} (${code})`))
  })
}
