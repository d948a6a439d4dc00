import type { Target } from '@carillon/sdk'

type CommandTarget = Extract<Target, { type: 'command' }>

export interface SplitCommand {
  readonly command: string
  /** What the command gets on standard input; null where the line says nothing about it. */
  readonly input: string | null
}

/**
 * The rules of crontab(5) for %: the first one that has no backslash before it ends the command, what follows is its
 * standard input, and further ones are line ends in it. \% is a plain %.
 */
export function splitAtPercent(text: string): SplitCommand {
  const parts = ['']
  for (let at = 0; at < text.length; at++) {
    const isEscaped = text[at] === '\\' && text[at + 1] === '%'
    if (isEscaped) at++
    if (text[at] === '%' && !isEscaped) parts.push('')
    else parts[parts.length - 1] += text[at] ?? ''
  }
  const [command = '', ...lines] = parts
  // Blanks at the end of a line are no part of a command.
  return {
    command: lines.length === 0 ? command.trimEnd() : command,
    input: lines.length === 0 ? null : lines.join('\n'),
  }
}

/** The target that runs a crontab's command as cron does: by its SHELL, in its HOME, with its variables. */
export function targetOf(
  { command, input }: SplitCommand,
  { shell, home, env }: { shell: string; home?: string; env: Readonly<Record<string, string>> },
): CommandTarget {
  const isPlainShell = shell === '/bin/sh' || shell === 'sh'
  const fed = input === null ? null : feeding(input)
  return {
    type: 'command',
    ...(fed === null
      ? isPlainShell
        ? { shell: command }
        : { argv: [shell, '-c', command] }
      : // A line of its own: the command may end in a comment.
        {
          shell: isPlainShell
            ? `${fed} | (\n${command}\n)`
            : `${fed} | ${quoted(shell)} -c ${quoted(command)}`,
        }),
    ...(Object.keys(env).length > 0 && { env: { ...env } }),
    ...(home !== undefined && { cwd: home }),
  }
}

/** cron ends the input with a line end where it has none; without any it is empty. */
function feeding(input: string): string {
  if (input === '') return ':'
  const lines = input.replace(/\n$/, '').split('\n')
  return `printf '%s\\n' ${lines.map((line) => (line === '' ? "''" : quoted(line))).join(' ')}`
}

/** One word of a shell. */
export function quoted(text: string): string {
  return /^[A-Za-z0-9_./:=@,+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
