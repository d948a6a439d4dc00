import { isAbsolute } from 'node:path'
import { type CommandTarget, type FieldProblem, hiddenValue, targetLimits } from '@carillon/contract'
import { hiddenProblem } from './hidden-problem.js'

/** What keeps a command from ever being started. */
export function commandProblems(target: CommandTarget): FieldProblem[] {
  return [...programProblems(target), ...environmentProblems(target.env ?? {}), ...folderProblems(target.cwd)]
}

function programProblems({ argv, shell }: CommandTarget): FieldProblem[] {
  if ((argv === undefined) === (shell === undefined)) {
    const message = argv === undefined ? 'The command is missing.' : 'argv and shell are both given.'
    return [
      {
        pointer: '/target',
        message,
        hint: 'Give either argv (["/usr/bin/backup", "--all"]) or shell ("backup --all | gzip > /tmp/b.gz").',
      },
    ]
  }
  if (shell !== undefined) return nulProblems([['/target/shell', shell]])
  const [program = ''] = argv ?? []
  if (program === '') {
    return [
      {
        pointer: '/target/argv/0',
        message: 'The program has no name.',
        hint: 'The first entry of argv is the program, by path or by a name found in PATH.',
      },
    ]
  }
  return nulProblems((argv ?? []).map((text, index) => [`/target/argv/${index}`, text]))
}

function environmentProblems(env: Readonly<Record<string, string>>): FieldProblem[] {
  const entries = Object.entries(env)
  const tooMany: FieldProblem[] =
    entries.length <= targetLimits.environment
      ? []
      : [
          {
            pointer: '/target/env',
            message: `There are ${entries.length} variables; at most ${targetLimits.environment} are set.`,
            hint: 'Move data into the payload.',
          },
        ]
  const pointers = entries
    .slice(0, targetLimits.environment)
    .map(([name, value]) => ({ name, value, pointer: `/target/env/${escapePointer(name)}` }))
  return [
    ...tooMany,
    ...pointers.flatMap(({ name, pointer }) => nameProblems(name, pointer)),
    ...pointers.flatMap(({ value, pointer }) =>
      value === hiddenValue ? [{ pointer, ...hiddenProblem }] : [],
    ),
    ...nulProblems(pointers.map(({ value, pointer }) => [pointer, value])),
  ]
}

function nameProblems(name: string, pointer: string): FieldProblem[] {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    return [
      {
        pointer,
        message: `${JSON.stringify(name)} is not a name of an environment variable.`,
        hint: 'A name has letters, digits and _ only, and begins with no digit.',
      },
    ]
  }
  if (!/^(carillon_|traceparent$)/i.test(name)) return []
  return [{ pointer, message: `${name} is set by Carillon for every attempt.`, hint: 'Remove it.' }]
}

function folderProblems(cwd: string | undefined): FieldProblem[] {
  if (cwd === undefined) return []
  if (!isAbsolute(cwd)) {
    return [
      {
        pointer: '/target/cwd',
        message: 'The working folder is not an absolute path.',
        hint: 'Write it from the root, e.g. /srv/app: workers start in different places.',
      },
    ]
  }
  return nulProblems([['/target/cwd', cwd]])
}

/** The system ends texts at NUL: what follows would be dropped silently. */
function nulProblems(texts: readonly (readonly [pointer: string, text: string])[]): FieldProblem[] {
  return texts
    .filter(([, text]) => text.includes('\0'))
    .map(([pointer]) => ({
      pointer,
      message: 'A NUL character cannot be passed to a program.',
      hint: 'Remove it, or encode the text.',
    }))
}

function escapePointer(part: string): string {
  return part.replaceAll('~', '~0').replaceAll('/', '~1')
}
