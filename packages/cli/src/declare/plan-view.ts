import type { Look } from '../output/look.js'
import { visible } from '../output/visible.js'
import { concise, complete } from './complete.js'
import { placeText, type Remark } from './declared.js'
import { type Change, countsOf, type Step } from './plan.js'

/** What would be done, job by job and field by field; jobs that stay as they are are only counted. */
export function planText(steps: readonly Step[], look: Look): string {
  const shown = steps.filter(({ action }) => action !== 'keep')
  return shown.map((step) => `${stepLines(step, look).join('\n')}\n`).join('')
}

function stepLines(step: Step, look: Look): string[] {
  const { green, red, yellow, bold } = look.colors
  switch (step.action) {
    case 'create': {
      const { input, paused } = step.declared
      const fields = Object.entries(concise(complete(input))).filter(([field]) => field !== 'name')
      const lines = fields.map(([field, value]) => green(`    ${field}: ${valueText(field, value)}`))
      return [
        green(`+ ${bold(visible(input.name))}`),
        ...lines,
        ...(paused === true ? [green('    paused: true')] : []),
      ]
    }
    case 'change':
      return [
        yellow(`~ ${bold(visible(step.job.name))}`),
        ...step.changes.flatMap((change) => changeLines(change, look)),
      ]
    case 'delete':
      return [red(`- ${bold(visible(step.job.name))} (${visible(step.job.job_id)})`)]
    case 'keep':
      return []
  }
}

function changeLines({ path, before, after }: Change, { colors: { red, green } }: Look): string[] {
  const [old, fresh] = [valueText(path, before), valueText(path, after)]
  return [
    ...(before === undefined ? [] : [red(`  - ${visible(path)}: ${old}`)]),
    ...(after === undefined ? [] : [green(`  + ${visible(path)}: ${fresh}`)]),
  ]
}

const secret =
  /authorization|cookie|secret|token|pass|pwd|api[-_]?key|private[-_]?key|access[-_]?key|credential/i

/** A value in one line. What is surely a secret is not shown, and whether it changes is said all the same. */
export function valueText(path: string, value: unknown): string {
  if (typeof value === 'string' && secret.test(path.slice(path.lastIndexOf('.') + 1))) return '(hidden)'
  if (typeof value === 'string') return visible(withoutPassword(value))
  return visible(
    JSON.stringify(value, (name, inner: unknown) => {
      if (typeof inner !== 'string') return inner
      return secret.test(name) ? '(hidden)' : withoutPassword(inner)
    }) ?? '',
  )
}

/** postgres://user:password@host, in whatever it stands. */
function withoutPassword(text: string): string {
  return text.replace(/(:\/\/[^\s/:@]*):[^\s/@]*@/g, '$1:(hidden)@')
}

/** "2 to create, 1 to change, 17 unchanged". */
export function countText(steps: readonly Step[], { colors }: Pick<Look, 'colors'>): string {
  const counts = countsOf(steps)
  const parts = [
    counts.create > 0 ? colors.green(`${counts.create} to create`) : null,
    counts.change > 0 ? colors.yellow(`${counts.change} to change`) : null,
    counts.delete > 0 ? colors.red(`${counts.delete} to delete`) : null,
    `${counts.keep} unchanged`,
  ]
  return parts.filter((part) => part !== null).join(', ')
}

export function remarkLines(remarks: readonly Remark[], { colors }: Pick<Look, 'colors'>): string[] {
  return remarks.map(({ at, kind, text, hint }) => {
    const mark = kind === 'error' ? colors.red('✗') : colors.yellow('!')
    const advice = hint === undefined ? '' : ` ${visible(hint)}`
    return `${mark} ${visible(placeText(at))}: ${visible(text)}${advice}`
  })
}

export function stepAsJson(step: Step): object {
  if (step.action === 'delete') return { action: 'delete', name: step.job.name, job_id: step.job.job_id }
  const { input, paused, at } = step.declared
  const common = { action: step.action, name: input.name, place: placeText(at) }
  if (step.action === 'create') return { ...common, job: input, ...(paused !== undefined && { paused }) }
  const job = { ...common, job_id: step.job.job_id }
  return step.action === 'keep' ? job : { ...job, changes: step.changes }
}
