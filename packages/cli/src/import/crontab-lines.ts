/** A line of a crontab that says when and what. */
export interface CronLine {
  readonly kind: 'job'
  readonly line: number
  /** Five fields with one blank between, or a word such as "@daily". */
  readonly when: string
  /** Only in a system crontab. */
  readonly user?: string
  /** As written: with its % signs. */
  readonly command: string
  /** The comment lines right above it, without their signs. */
  readonly comment: readonly string[]
}

export interface VariableLine {
  readonly kind: 'variable'
  readonly line: number
  readonly name: string
  readonly value: string
}

/** A line that cron would not take either. */
export interface BrokenLine {
  readonly kind: 'broken'
  readonly line: number
  readonly why: string
  readonly hint: string
}

export type CrontabLine = CronLine | VariableLine | BrokenLine

const blank = /[ \t]+/

/** Reads a crontab as crontab(5) has it, line by line. */
export function readCrontab(text: string, { system }: { system: boolean }): CrontabLine[] {
  const lines: CrontabLine[] = []
  let comment: string[] = []
  for (const [index, raw] of text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .entries()) {
    const content = raw.replace(/^[ \t]+/, '')
    if (content.startsWith('#')) {
      comment.push(content.replace(/^#+!?[ \t]*/, '').trimEnd())
      continue
    }
    if (content.trim() !== '') lines.push(readLine(content, index + 1, comment, system))
    // A comment belongs to the line below it; a blank line, or a line of another kind, ends it.
    comment = []
  }
  return lines
}

function readLine(content: string, line: number, comment: readonly string[], system: boolean): CrontabLine {
  const variable = readVariable(content)
  if (variable !== null) return { kind: 'variable', line, ...variable }
  // cronie: a dash before the entry keeps it out of the system's log.
  const entry = content.replace(/^-(?=[\d*@])/, '')
  const fields = entry.startsWith('@') ? 1 : 5
  const { words, rest } = taken(entry, fields + (system ? 1 : 0))
  const when = words.slice(0, fields).join(' ')
  const user = system ? words[fields] : undefined
  const early = fields === 1 ? undefined : words.slice(0, fields).find((word) => isNoField(word))
  if (early !== undefined) return { kind: 'broken', line, ...missingField(early, system) }
  if (words.length < fields + (system ? 1 : 0) || rest === '') {
    return { kind: 'broken', line, ...shortfall(words.length, fields, system) }
  }
  return { kind: 'job', line, when, command: rest, comment, ...(user !== undefined && { user }) }
}

const names = /^(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat)/i

/** A path or the name of a program. What is only a wrong field, such as "61", is told with its repair later. */
function isNoField(word: string): boolean {
  return /^[/.]|^~\//.test(word) || (/^[a-z][a-z0-9._-]+$/i.test(word) && !names.test(word))
}

function missingField(early: string, system: boolean): { why: string; hint: string } {
  const { hint } = shortfall(0, 5, system)
  return { why: `a field is missing: "${early}" stands where one of the five of a schedule should`, hint }
}

function shortfall(words: number, fields: number, system: boolean): { why: string; hint: string } {
  const shape = `${fields === 1 ? '@daily' : '0 9 * * 1'} ${system ? 'root ' : ''}/usr/bin/backup`
  const hint = `A line reads like: ${shape}; a variable like: PATH=/usr/bin:/bin`
  if (words < fields)
    return { why: `a field is missing: ${words} of the ${fields} fields of a schedule are there`, hint }
  if (system && words === fields) return { why: 'the user and the command are missing', hint }
  return { why: 'the command is missing', hint }
}

/** The first words of a line, and the rest of it as it is. */
function taken(text: string, count: number): { words: string[]; rest: string } {
  const words: string[] = []
  let rest = text
  while (words.length < count && rest !== '') {
    const [word = ''] = rest.split(blank, 1)
    words.push(word)
    rest = rest.slice(word.length).replace(/^[ \t]+/, '')
  }
  return { words, rest }
}

/** `NAME = value`; blanks round the sign do not count, and quotes keep blanks. Nothing is expanded. */
function readVariable(content: string): { name: string; value: string } | null {
  const match = /^(?:"([^"]*)"|'([^']*)'|([A-Za-z_][A-Za-z0-9_]*))[ \t]*=[ \t]*(.*)$/.exec(content)
  if (match === null) return null
  const name = match[1] ?? match[2] ?? match[3] ?? ''
  const value = (match[4] ?? '').trimEnd()
  const quoted = /^"(.*)"$|^'(.*)'$/.exec(value)
  return { name, value: quoted?.[1] ?? quoted?.[2] ?? value }
}

/** Names that people on most machines have; those of this machine are added by the caller. */
const commonUsers = new Set([
  'root',
  'nobody',
  'daemon',
  'www-data',
  'nginx',
  'apache',
  'postgres',
  'mysql',
  'backup',
])

/** Users of many machines that are programs as well: by these alone nobody can tell `mail -s …` from a user's line. */
const programsToo = new Set([
  'backup',
  'bin',
  'games',
  'git',
  'list',
  'lp',
  'mail',
  'man',
  'mysql',
  'news',
  'sync',
])

/** The user that a command seems to begin with, in a crontab that has none by the look of its other lines. */
export function seemingUser(command: string, users: ReadonlySet<string>): string | null {
  const { words, rest } = taken(command, 1)
  const [word = ''] = words
  if (!rest.startsWith('/') || programsToo.has(word)) return null
  return commonUsers.has(word) || users.has(word) ? word : null
}

/** Whether lines have a user between schedule and command, as in /etc/crontab and /etc/cron.d. */
export function looksLikeSystem(text: string, file: string, users: ReadonlySet<string>): boolean {
  if (/(^|\/)etc\/(crontab|cron\.d\/[^/]+)$/.test(file)) return true
  const jobs = readCrontab(text, { system: false }).filter((line) => line.kind === 'job')
  const begins = jobs.map(({ command }) => {
    const { words, rest } = taken(command, 1)
    return { word: words[0] ?? '', rest }
  })
  return (
    begins.every(
      // No command begins with a dash.
      ({ word, rest }) => /^[^-]/.test(rest) && (commonUsers.has(word) || users.has(word)),
    ) && begins.some(({ word }) => !programsToo.has(word))
  )
}
