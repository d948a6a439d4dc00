import type { DeadLetter, DeadLetterDetail, DeadLetterGroup, DeadLetterList, Redrive } from '@carillon/sdk'
import type { NameOf } from '../job-names.js'
import { renderFacts } from '../output/facts.js'
import type { Look } from '../output/look.js'
import { renderTable } from '../output/table.js'
import { when, whenInZone } from '../output/time.js'
import { firstLine, visible, visibleLines } from '../output/visible.js'
import { attemptTable } from './run-detail.js'

export function letterTable(letters: readonly DeadLetter[], look: Look): string {
  return renderTable<DeadLetter>(
    [
      { title: 'RUN', cell: (letter) => visible(letter.run_id) },
      { title: 'JOB', cell: (letter) => visible(letter.job), least: 10 },
      { title: `DIED (${look.timeZone})`, cell: (letter) => when(letter.dead_at, look) },
      { title: 'ATTEMPTS', cell: attemptsOf, optional: true },
      {
        title: 'WHY',
        cell: (letter) => whyOf(letter),
        paint: (text) => look.colors.red(text),
        least: 16,
      },
      { title: 'SCHEDULED', cell: (letter) => when(letter.scheduled_at, look), optional: true },
      { title: 'FINGERPRINT', cell: (letter) => visible(letter.fingerprint), optional: true },
    ],
    letters,
    look,
  )
}

/** What to do next, below the list. */
export function listHint({ data, next_cursor: more }: DeadLetterList): string {
  const [first] = data
  if (first === undefined) return 'No dead letters.'
  const rest =
    more === null ? '' : 'There are more: --limit shows them, carillon dead-letters groups sums them up.\n'
  return `${rest}See one: carillon dead-letters show ${visible(first.run_id)}`
}

export function groupTable(groups: readonly DeadLetterGroup[], look: Look): string {
  return renderTable<DeadLetterGroup>(
    [
      { title: 'FINGERPRINT', cell: ({ fingerprint }) => visible(fingerprint) },
      { title: 'LETTERS', cell: ({ count }) => String(count) },
      { title: 'JOBS', cell: ({ jobs }) => String(jobs) },
      { title: 'ERROR', cell: ({ pattern }) => visible(pattern), least: 20 },
      { title: `LAST (${look.timeZone})`, cell: ({ last_dead_at: at }) => when(at, look) },
      { title: 'FIRST', cell: ({ first_dead_at: at }) => when(at, look), optional: true },
    ],
    groups,
    look,
  )
}

/** Everything about one, and below it what can be done. */
export function letterDetails(letter: DeadLetterDetail, look: Look): string {
  const { colors } = look
  const edited =
    letter.current_version === letter.version ? '' : `; the job is at ${letter.current_version} now`
  const facts: [string, string][] = [
    ['Run', colors.bold(visible(letter.run_id))],
    ['Job', `${visible(letter.job)} (${visible(letter.job_id)}), ${letter.job_state}`],
    ['Scheduled', whenInZone(letter.scheduled_at, look)],
    ['Died', `${whenInZone(letter.dead_at, look)}, after ${attemptsOf(letter)} attempts`],
    ['Why', colors.red(visible(letter.reason))],
    ['Error', visibleLines((letter.error ?? '–').trimEnd())],
    ['Fingerprint', `${visible(letter.fingerprint)}  ${colors.dim(visible(letter.pattern))}`],
    ['Version', `${letter.version}${edited}`],
    ['Target', visible(JSON.stringify(letter.target))],
    [
      'Payload',
      `${visible(JSON.stringify(letter.payload))}${letter.payload_changed ? ' (given with a re-drive)' : ''}`,
    ],
  ]
  if (letter.result !== null && letter.result !== undefined)
    facts.push(['Answer', visible(JSON.stringify(letter.result))])
  return `${renderFacts(facts, look)}\n${attemptTable(letter.history, look)}\n${todoOf(letter)}`
}

function todoOf(letter: DeadLetterDetail): string {
  const run = visible(letter.run_id)
  const discard = `→ Give it up:        carillon dead-letters discard ${run} --yes\n`
  if (letter.job_state === 'deleted' || letter.job_state === 'collected')
    return `→ Its job was deleted: nothing of it can be run again.\n${discard}`
  const again = `carillon dead-letters redrive ${run}`
  const rerun =
    letter.current_version === letter.version
      ? `→ Run it again:      ${again}\n`
      : `→ The job was changed since: it ran version ${letter.version}, and ${letter.current_version} is current.\n` +
        `→ As the job is now: ${again} --current\n→ As it was then:    ${again}\n`
  const paused =
    letter.job_state === 'paused' ? '→ Its job is paused: what is re-driven waits until it is resumed.\n' : ''
  return (
    rerun +
    `→ With a correction: ${again} --payload JSON\n` +
    `→ All of this error: carillon dead-letters redrive --fingerprint ${visible(letter.fingerprint)} --canary 5 --rate 10\n` +
    discard +
    paused
  )
}

export function redriveTable(redrives: readonly Redrive[], look: Look, nameOf?: NameOf): string {
  return renderTable<Redrive>(
    [
      { title: 'NUMBER', cell: ({ redrive }) => String(redrive) },
      { title: 'STATE', cell: ({ state }) => visible(state) },
      { title: 'MOVED', cell: ({ moved, total }) => `${moved} of ${total}` },
      { title: 'PER SECOND', cell: (row) => String(row.per_second) },
      { title: 'CANARY', cell: ({ canary }) => (canary === 0 ? '–' : String(canary)) },
      { title: `ASKED (${look.timeZone})`, cell: (row) => when(row.created_at, look) },
      { title: 'WHICH', cell: (row) => whichOf(row, nameOf), least: 10, optional: true },
    ],
    redrives,
    look,
  )
}

export function redriveDetails(redrive: Redrive, look: Look, nameOf?: NameOf): string {
  const facts: [string, string][] = [
    ['Re-drive', String(redrive.redrive)],
    ['State', `${look.colors.bold(redrive.state)}: ${stateWords[redrive.state] ?? ''}`],
    ['Moved', `${redrive.moved} of ${redrive.total} dead letters are back in the queue`],
    ['Pace', `${redrive.per_second} a second`],
    ['Which', whichOf(redrive, nameOf)],
    ['Version', redrive.version === 'current' ? 'as the jobs are now' : 'the one that failed'],
    ...redrive.canaries.map((run): [string, string] => ['Went first', visible(run)]),
  ]
  return `${renderFacts(facts, look)}${nextOf(redrive)}`
}

const stateWords: Readonly<Record<Redrive['state'], string>> = {
  canary: 'the first go back to the queue',
  watching: 'the first must all succeed before the rest follows',
  running: 'goes on in the background',
  done: 'all of them are back in the queue',
  stopped: 'one that went first did not succeed; the rest stays dead',
  cancelled: 'stopped by a person; the rest stays dead',
}

function nextOf(redrive: Redrive): string {
  const number = redrive.redrive
  if (redrive.ended_at === null)
    return `→ How far it is: carillon dead-letters redrives ${number}\n→ Stop it:       carillon dead-letters stop ${number}\n`
  const [first] = redrive.canaries
  if (redrive.state === 'stopped' && first !== undefined)
    return `→ See why: carillon runs show ${visible(first)}\n`
  return redrive.state === 'done' && redrive.total > 0
    ? '→ What died again: carillon dead-letters groups\n'
    : ''
}

function whichOf({ job_id: job, fingerprint, after, before }: Redrive, nameOf: NameOf = (id) => id): string {
  const parts = [
    ...(job === null ? [] : [`of ${visible(nameOf(job))}`]),
    ...(fingerprint === null ? [] : [`with ${visible(fingerprint)}`]),
    ...(after === null ? [] : [`dead since ${visible(after)}`]),
  ]
  return `${parts.length === 0 ? 'all' : parts.join(', ')} that died before ${visible(before)}`
}

function attemptsOf({ attempts, max_attempts: most, round }: DeadLetter): string {
  return `${attempts} of ${most}${round === 1 ? '' : ` (round ${round})`}`
}

function whyOf({ reason, error }: DeadLetter): string {
  return error === null ? visible(reason) : `${visible(reason)}: ${firstLine(error)}`
}
