import type { Declared, DeclaredInput, Remark } from '../declare/declared.js'
import { splitAtPercent, targetOf } from './crontab-command.js'
import { type CronLine, readCrontab, seemingUser } from './crontab-lines.js'
import { givenName, isSwitchedOff, type Naming, namesOf } from './crontab-names.js'
import { scheduleOf } from './crontab-schedule.js'

export interface CrontabOptions {
  /** As remarks name it. */
  readonly file: string
  readonly system: boolean
  /** Where nobody said whether lines name a user: names that would be one. */
  readonly users?: ReadonlySet<string>
  /** In which zone lines without CRON_TZ are read. */
  readonly timezone: string
  readonly prefix?: string
  /** Put over what the lines say. */
  readonly fields?: Partial<DeclaredInput>
}

export interface Mapped {
  readonly declared: Declared[]
  readonly remarks: Remark[]
  /** Whether any of them is read in the zone of the options. */
  readonly usesGivenZone?: boolean
  /** How each came by its name, where it was not written. */
  readonly namings?: readonly Naming[]
}

/** cron never tries again, lets runs overlap, forgets what it missed, and waits as long as it takes. */
const asCronDoes = {
  overlap_policy: 'ALLOW',
  missed_window: 'SKIP',
  max_retries: 0,
  timeout_seconds: 86_400,
} as const satisfies Partial<DeclaredInput>

const longestDescription = 1_000
const longestJitter = 86_400
const mailNames = new Set(['MAILFROM', 'CONTENT_TYPE', 'CONTENT_TRANSFER_ENCODING'])
const ours = /^(carillon_|traceparent$)/i

/** The jobs that a crontab means, and what of it cannot be had. */
export function jobsOfCrontab(text: string, options: CrontabOptions): Mapped {
  const remarks: Remark[] = []
  const remark = (line: number, said: string, kind: Remark['kind'] = 'note', hint?: string) =>
    void remarks.push({
      at: { file: options.file, line },
      kind,
      text: said,
      ...(hint !== undefined && { hint }),
    })
  const found: { line: CronLine; surroundings: Surroundings }[] = []
  let now: Surroundings = {
    shell: '/bin/sh',
    timezone: options.timezone,
    zoned: false,
    jitterSeconds: 0,
    env: {},
  }
  for (const line of readCrontab(text, options)) {
    if (line.kind === 'broken') remark(line.line, line.why, 'error', line.hint)
    else if (line.kind === 'variable')
      now = withVariable(now, line.name, line.value, (said) => remark(line.line, said))
    else found.push({ line, surroundings: now })
  }
  const all = namesOf(
    found.map(({ line }) => ({ ...line, command: splitAtPercent(line.command).command })),
    options.prefix ?? '',
  )
  const declared: Declared[] = []
  const namings: Naming[] = []
  for (const [at, { line, surroundings }] of found.entries()) {
    const naming = all[at] ?? { name: '', base: '', others: [] }
    const input = jobOf(line, surroundings, naming.name, options, remark)
    if (input === null) continue
    declared.push({ input, at: { file: options.file, line: line.line } })
    namings.push(naming)
  }
  remarkAmbiguous(
    found.map(({ line }) => line),
    options,
    remark,
  )
  remarkUsers(
    found.map(({ line }) => line),
    remark,
  )
  return {
    declared,
    namings,
    remarks: remarks.sort((a, b) => a.at.line - b.at.line),
    usesGivenZone: found.some(({ surroundings }) => !surroundings.zoned),
  }
}

/** What the variables above a line say. */
interface Surroundings {
  readonly shell: string
  readonly home?: string
  readonly timezone: string
  /** Whether CRON_TZ said so. */
  readonly zoned: boolean
  readonly jitterSeconds: number
  readonly env: Readonly<Record<string, string>>
}

function withVariable(
  now: Surroundings,
  name: string,
  value: string,
  note: (text: string) => void,
): Surroundings {
  const env = { ...now.env, [name]: value }
  switch (name) {
    case 'CRON_TZ':
      return { ...now, timezone: value, zoned: true }
    case 'SHELL':
      return { ...now, shell: value, env }
    case 'HOME':
      return value.startsWith('/') ? { ...now, home: value, env } : { ...now, env }
    case 'RANDOM_DELAY': {
      const minutes = Number(value)
      if (Number.isInteger(minutes) && minutes >= 0)
        return { ...now, jitterSeconds: Math.min(minutes * 60, longestJitter) }
      note(`RANDOM_DELAY is "${value}", and should be whole minutes: left out`)
      return now
    }
    case 'TZ':
      note(
        'TZ is given to the commands; cron does not read schedules by it. CRON_TZ, or --timezone, does that',
      )
      return { ...now, env }
    case 'MAILTO':
      if (value !== '')
        note(
          `MAILTO=${value}: Carillon sends no mail. Output is kept with the run (carillon runs show), failures end as dead letters`,
        )
      return now
    default:
      if (mailNames.has(name)) return now
      if (!ours.test(name) && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return { ...now, env }
      note(
        `${name} cannot be given to a command: ${ours.test(name) ? 'Carillon sets such names itself' : 'it is no name of a variable'}`,
      )
      return now
  }
}

type Say = (line: number, text: string) => void

function jobOf(
  line: CronLine,
  { shell, home, timezone, jitterSeconds, env }: Surroundings,
  name: string,
  { fields = {} }: CrontabOptions,
  remark: Say,
): DeclaredInput | null {
  const split = splitAtPercent(line.command)
  const schedule = scheduleOf(line.when, split.command)
  if ('unmappable' in schedule) {
    remark(line.line, `${schedule.unmappable} (${split.command})`)
    return null
  }
  for (const note of schedule.notes) remark(line.line, note)
  const description = descriptionOf(line.comment)
  return {
    name,
    schedule: schedule.schedule,
    timezone,
    target: targetOf(split, { shell, env, ...(home !== undefined && { home }) }),
    ...(description !== '' && { description }),
    ...(jitterSeconds > 0 && { jitter_seconds: jitterSeconds }),
    ...asCronDoes,
    ...fields,
  }
}

function descriptionOf(comment: readonly string[]): string {
  const lines = comment.filter((line) => !isSwitchedOff(line) && givenName(line) === null)
  return lines.join('\n').trim().slice(0, longestDescription)
}

/** A user where other lines have none, and a sixth field: a command that begins so would not do what is meant. */
function remarkAmbiguous(
  lines: readonly CronLine[],
  { system, users }: CrontabOptions,
  remark: (line: number, text: string, kind?: Remark['kind'], hint?: string) => void,
): void {
  for (const { line, command } of lines) {
    const [first = ''] = command.split(/[ \t]/, 1)
    if (/^[\d*][\d*/,-]*$/.test(first))
      remark(
        line,
        `the command begins with "${first}", which looks like a sixth field: a crontab has five, and none for seconds`,
      )
    const user = system || users === undefined ? null : seemingUser(command, users)
    if (user !== null)
      remark(
        line,
        `"${user}" looks like a user, and other lines name none`,
        'error',
        'Say which it is: --system where every line names a user, --user where none does.',
      )
  }
}

/** Commands run as the user of the worker, whoever it is. */
function remarkUsers(lines: readonly CronLine[], remark: Say): void {
  const byUser = new Map<string, number[]>()
  for (const { user, line } of lines)
    if (user !== undefined) byUser.set(user, [...(byUser.get(user) ?? []), line])
  for (const [user, at] of byUser) {
    const [first = 1, ...more] = at
    const also = more.length === 0 ? '' : ` (also line${more.length === 1 ? '' : 's'} ${more.join(', ')})`
    remark(first, `runs as ${user} here${also}; a worker runs commands as its own user: start one as ${user}`)
  }
}
