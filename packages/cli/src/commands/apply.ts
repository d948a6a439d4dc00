import { Command } from 'commander'
import type { Declared } from '../declare/declared.js'
import { outputOf, withJson } from '../output/output.js'
import { append, withSettings } from '../settings.js'
import { UsageError } from '../usage.js'

interface ApplyFlags {
  file?: string[]
  owner?: string
  prune?: boolean
  dryRun?: boolean
  yes?: boolean
  exitCode?: boolean
}

const examples = `
Examples:
  carillon apply -f jobs.yaml
  carillon apply -f jobs/ -f more.yaml --owner billing --prune --yes
  carillon export | carillon apply -f - --url http://other:7420 --yes`

/** `carillon apply -f jobs.yaml` */
export function applyCommand(): Command {
  const command = withFiles(new Command('apply'))
    .description('Make the jobs what files say: new ones are created, others changed; the diff comes first')
    .option('--dry-run', 'show what would change, and write nothing')
    .option('--yes', 'do not ask')
    .addHelpText('after', examples)
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const flags = command.opts<ApplyFlags>()
    await carriedOut(command, flags, flags.dryRun ?? false)
  })
  return command
}

/** `carillon diff -f jobs.yaml` */
export function diffCommand(): Command {
  const command = withFiles(new Command('diff'))
    .description('Show how the jobs differ from what files say; changes nothing')
    .option('--exit-code', 'end with 1 where there is a difference')
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const flags = command.opts<ApplyFlags>()
    const { differs } = await carriedOut(command, flags, true)
    if (flags.exitCode && differs) process.exitCode = 1
  })
  return command
}

function withFiles(command: Command): Command {
  return command
    .option(
      '-f, --file <file>',
      'YAML or JSON, or a folder of such files; - reads stdin; may be repeated',
      append,
    )
    .option('--owner <name>', 'who manages these jobs (managed_by)')
    .option('--prune', 'delete the jobs of --owner that the files do not have')
}

async function carriedOut(command: Command, flags: ApplyFlags, dryRun: boolean) {
  const { file: files, owner } = flags
  if (files === undefined) throw new UsageError('Say which jobs: -f jobs.yaml, a folder, or - for stdin.')
  if (flags.prune && owner === undefined)
    throw new UsageError('--prune deletes only what an owner has: give --owner as well.')
  // Loaded here: the parser of YAML and the schemas are of no use to other commands.
  const { declare } = await import('../declare/declare.js')
  const { readDeclared } = await import('../declare/read-files.js')
  const { declared, remarks } = await readDeclared(files)
  // What fails before a pipe leaves nothing in it: that must not be taken for the wish to have no jobs.
  if (flags.prune && declared.length === 0 && remarks.length === 0)
    throw new UsageError(
      `There is no job in ${files.map((file) => (file === '-' ? 'stdin' : file)).join(', ')}, and --prune would delete all that "${owner}" has. ` +
        `If that is meant: carillon jobs delete --managed-by ${owner}`,
    )
  return declare(
    command,
    outputOf(command),
    { declared: owner === undefined ? declared : declared.map((one) => ownedBy(owner, one)), remarks },
    {
      dryRun,
      yes: flags.yes ?? false,
      pauseReason: 'paused by its declaration',
      ...(flags.prune && owner !== undefined && { pruneOwner: owner }),
    },
  )
}

function ownedBy(owner: string, declared: Declared): Declared {
  return { ...declared, input: { ...declared.input, managed_by: owner } }
}
