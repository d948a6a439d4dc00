import type { Command } from 'commander'
import { abilitiesOf } from '../calls/abilities.js'
import { clientOf, serverOf } from '../client.js'
import { confirm } from '../confirm.js'
import type { Output } from '../output/output.js'
import { progressOf } from '../output/progress.js'
import { carryOut, type Outcome, type Tools } from './carry-out.js'
import { checkDeclared } from './check.js'
import { definitionFields } from './complete.js'
import { type Declared, placeText, type Remark } from './declared.js'
import { countsOf, isEmpty, planOf, type Step } from './plan.js'
import { countText, planText, remarkLines, stepAsJson } from './plan-view.js'
import { presentJobs } from './present.js'
import { DeclarationError } from './refused.js'
import { warningLines, warningsOfKept } from './warnings.js'

export interface DeclareOptions {
  /** Show the diff and stop. */
  dryRun: boolean
  yes: boolean
  /** Delete what this owner has and the declaration has not. */
  pruneOwner?: string
  /** What a job is paused with that is declared as paused. */
  pauseReason: string
}

export interface DeclareResult {
  /** Whether there was anything to change. */
  differs: boolean
}

/** Checks what is declared, shows what would change, asks, and carries it out. The one way by which files become jobs. */
export async function declare(
  command: Command,
  output: Output,
  { declared, remarks: read }: { declared: readonly Declared[]; remarks: readonly Remark[] },
  options: DeclareOptions,
): Promise<DeclareResult> {
  const remarks = [...read, ...(await checkDeclared(declared, output.look.now))]
  const notes = remarks.filter(({ kind }) => kind === 'note')
  const say = (lines: readonly string[]) => {
    if (!output.json) for (const line of lines) output.note(line)
  }
  say(remarkLines(notes, output.look))
  if (remarks.some(({ kind }) => kind === 'error')) throw new DeclarationError(remarks)

  const client = clientOf(command)
  const abilities = await abilitiesOf(serverOf(command))
  const unknown = new Set(definitionFields.filter((field) => !abilities.takes(field)))
  say(unknownNotes(declared, unknown))
  const names = declared.map(({ input }) => input.name)
  const present = await presentJobs(client, abilities, names, {
    all: options.pruneOwner !== undefined,
  })
  const steps = planOf(declared, present, {
    unknown,
    ...(options.pruneOwner !== undefined && { pruneOwner: options.pruneOwner }),
  })
  const summary = { ...countsOf(steps), notes: notes.map(({ at, text }) => ({ place: placeText(at), text })) }
  if (options.dryRun || isEmpty(steps)) {
    const warnings = warningsOfKept(steps)
    output.result(
      { dry_run: options.dryRun, ...summary, steps: steps.map(stepAsJson), done: [], warnings },
      () => planText(steps, output.look) + `${countText(steps, output.look)}\n`,
    )
    say(warningLines(warnings, output.look.colors))
    return { differs: !isEmpty(steps) }
  }
  if (!output.json) output.text(planText(steps, output.look))
  await agree(steps, output, options.yes)
  const outcome = await carriedOut(steps, { client, abilities, pauseReason: options.pauseReason })
  output.result({ dry_run: false, ...summary, steps: steps.map(stepAsJson), ...outcome }, () =>
    doneText(outcome, steps, output),
  )
  say(warningLines(outcome.warnings, output.look.colors))
  if (outcome.failed.length > 0) throw new DeclarationError(outcome.failed, closingOf(steps))
  return { differs: true }
}

function closingOf(steps: readonly Step[]): string {
  return countsOf(steps).delete === 0
    ? 'Everything else was carried out.'
    : 'Everything else was carried out, but nothing that would be deleted was.'
}

async function agree(steps: readonly Step[], output: Output, yes: boolean): Promise<void> {
  const question = `${countText(steps, output.look)}. Carry it out?`
  if (!(await confirm(question, { yes }))) throw new Error('Nothing was written.')
}

async function carriedOut(steps: readonly Step[], tools: Omit<Tools, 'onStep'>): Promise<Outcome> {
  const total = steps.filter(({ action }) => action !== 'keep').length
  const progress = progressOf('writing', total)
  let done = 0
  try {
    return await carryOut(steps, { ...tools, onStep: () => progress.to(++done) })
  } finally {
    progress.stop()
  }
}

function doneText({ done, failed }: Outcome, steps: readonly Step[], { look }: Output): string {
  const count = (action: string) => done.filter((one) => one.action === action).length
  const parts = (['created', 'changed', 'deleted'] as const)
    .filter((action) => count(action) > 0)
    .map((action) => `${count(action)} ${action}`)
  const kept = `${countsOf(steps).keep} unchanged`
  const mark = failed.length === 0 ? look.colors.green('✓') : look.colors.yellow('!')
  return `${mark} ${[...parts, kept].join(', ')}\n`
}

/** An older server is told what it understands; the rest is said, not lost silently. */
function unknownNotes(declared: readonly Declared[], unknown: ReadonlySet<string>): string[] {
  const missing = [...unknown].filter((field) =>
    declared.some(({ input }) => (input as unknown as Record<string, unknown>)[field] !== undefined),
  )
  return missing.length === 0 ? [] : [`! This server does not know ${missing.join(', ')}: left out.`]
}
