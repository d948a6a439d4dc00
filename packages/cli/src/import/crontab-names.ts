import { createHash } from 'node:crypto'

export interface Nameable {
  readonly command: string
  readonly when: string
  readonly comment: readonly string[]
}

const longestName = 80
const mostWords = 6

export interface Naming {
  readonly name: string
  /** What its names begin with. */
  readonly base: string
  /** The names that it would have beside other lines. */
  readonly others: readonly string[]
}

/**
 * A name for every line: what a short comment above it says, or the program that it runs. Names depend on what the
 * lines say and not on where they stand.
 */
export function namesOf(lines: readonly Nameable[], prefix: string): Naming[] {
  const bases = lines.map((line) => `${prefix}${baseOf(line)}`)
  const byBase = counted(bases)
  // The command tells lines of one base apart; where even that is the same, the schedule does.
  const candidates = lines.map(({ command, when }, at): [string, string, string] => {
    const base = bases[at] ?? ''
    return [base, `${base}-${digest(command)}`, `${base}-${digest(`${when} ${command}`)}`]
  })
  const byCommand = candidates.map(([base, withCommand]) => (byBase.get(base) === 1 ? base : withCommand))
  const byFirst = counted(byCommand)
  const seen = new Map<string, number>()
  return candidates.map((all, at) => {
    const first = byCommand[at] ?? ''
    const distinct = byFirst.get(first) === 1 ? first : all[2]
    const times = (seen.get(distinct) ?? 0) + 1
    seen.set(distinct, times)
    const name = times === 1 ? distinct : `${distinct}-${times}`
    return { name, base: all[0], others: all.filter((other) => other !== name) }
  })
}

function baseOf({ command, comment }: Nameable): string {
  const fromComment = slug(nameInComment(comment) ?? '')
  return fromComment === '' ? programOf(command) : fromComment
}

/** "name: backup" anywhere in the comment, or the whole of a short one that is no line switched off. */
function nameInComment(comment: readonly string[]): string | null {
  for (const line of comment) {
    const named = givenName(line)
    if (named !== null) return named
  }
  const [only = '', ...more] = comment.filter((line) => /[\p{L}\p{N}]/u.test(line))
  const isShort = more.length === 0 && only.split(/\s+/).length <= mostWords
  return isShort && !isSwitchedOff(only) ? only : null
}

/** "name: backup" is what a person calls the line below. */
export function givenName(line: string): string | null {
  return /^(?:job[- _]?)?name\s*[:=]\s*(\S.*)$/i.exec(line)?.[1] ?? null
}

/** A line of the crontab that was commented out says nothing about the next one. */
export function isSwitchedOff(line: string): boolean {
  return (
    /^(@[a-z]+|[\d*][\d*,/~-]*\s+[\d*][\d*,/~-]*\s+\S+\s+\S+\s+\S+)\s+\S/i.test(line) ||
    /^[A-Za-z_]+\s*=/.test(line)
  )
}

/** The words before the program that say how it is run, not what. */
const wrappers = new Set([
  'sudo',
  'nice',
  'ionice',
  'nohup',
  'time',
  'exec',
  'env',
  'flock',
  'timeout',
  'chronic',
  'cronic',
  'systemd-cat',
  'command',
  'test',
  '[',
])
const interpreters = new Set([
  'sh',
  'bash',
  'zsh',
  'dash',
  'ksh',
  'python',
  'python2',
  'python3',
  'perl',
  'ruby',
  'php',
  'node',
  'java',
])

function programOf(command: string): string {
  const parts = command.split(/&&|\|\||[;|\n]/).map((part) => part.trim())
  // "cd /srv/app && bin/report": what is run there gives the name.
  const part =
    parts.find((one) => !/^(cd|export|set|source|\.|umask|\[|test)(\s|$)/.test(one)) ?? parts[0] ?? ''
  const words = part
    .replace(/^[({]\s*/, '')
    .split(/\s+/)
    .filter((word) => word !== '')
  let at = 0
  while (at < words.length - 1 && isBefore(words, at)) at++
  const program = slug(lastOf(words[at] ?? ''))
  const script = words.slice(at + 1).find((word) => !word.startsWith('-'))
  const name =
    interpreters.has(lastOf(words[at] ?? '')) && script !== undefined ? slug(lastOf(script)) : program
  return name === '' ? 'job' : name
}

function isBefore(words: readonly string[], at: number): boolean {
  const word = words[at] ?? ''
  const afterWrapper = words.slice(0, at).some((one) => wrappers.has(lastOf(one)))
  if (wrappers.has(lastOf(word)) || /^[A-Za-z_]\w*=/.test(word)) return true
  // Options and their values of a wrapper: "nice -n 19", "flock -n /tmp/lock", "timeout 5m".
  return afterWrapper && (/^-/.test(word) || /^\d+[smhd]?$/.test(word) || /lock/i.test(word))
}

function lastOf(path: string): string {
  return (
    path
      .replace(/["'`]/g, '')
      .split('/')
      .filter((part) => part !== '')
      .at(-1) ?? ''
  )
}

function slug(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/\.(sh|bash|py|pl|rb|php|js|mjs|ts|jar)$/, '')
    .replace(/[^\p{L}\p{N}._]+/gu, '-')
    .replace(/^[-._]+|[-._]+$/g, '')
    .slice(0, longestName)
}

function counted(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 6)
}
