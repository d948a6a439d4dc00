import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { clientOf } from '../client.js'
import type { DeclaredInput } from '../declare/declared.js'
import { jobsOfCrontab, type Mapped } from '../import/crontab.js'
import { looksLikeSystem } from '../import/crontab-lines.js'
import { fieldsOf, type JobFlags } from '../job-input.js'
import { outputOf, withJson } from '../output/output.js'
import { readInput } from '../read-input.js'
import { append, withSettings } from '../settings.js'
import { UsageError } from '../usage.js'

export function importCommand(): Command {
  return new Command('import')
    .description('Make jobs of what other schedulers run; the diff comes first')
    .addCommand(crontabCommand())
    .addCommand(k8sCommand())
}

interface ImportFlags extends JobFlags {
  prefix?: string
  owner?: string
  tag?: string[]
  dryRun?: boolean
  yes?: boolean
  system?: boolean
  user?: boolean
}

function withImportFlags(command: Command): Command {
  return command
    .option('--dry-run', 'show what would change, and write nothing')
    .option('--yes', 'do not ask')
    .option('--prefix <text>', 'put before every name, e.g. the name of the machine')
    .option('--owner <name>', 'who manages these jobs from now on (managed_by)')
    .option('--tag <tag>', 'a tag for every job; may be repeated', append)
    .option('--overlap <policy>', 'in place of what the file says: SKIP, ALLOW, QUEUE or REPLACE')
    .option('--missed-window <policy>', 'in place of what the file says: SKIP, RUN_ONCE or RUN_ALL')
    .option('--max-retries <n>', 'in place of what the file says')
    .option('--timeout-seconds <n>', 'in place of what the file says')
}

const crontabExamples = `
Examples:
  crontab -l | carillon import crontab - --dry-run
  carillon import crontab /etc/crontab --prefix web1- --yes
  carillon import crontab jobs.cron --timezone Europe/Madrid --missed-window RUN_ONCE`

/** `carillon import crontab FILE|-` */
function crontabCommand(): Command {
  const command = new Command('crontab')
    .description('Make a command job of every line of a crontab; a second import changes what has changed')
    .argument('<file>', 'a crontab; - reads stdin')
  withImportFlags(command)
    .option('--timezone <zone>', "of lines without CRON_TZ (default: this machine's)")
    .option(
      '--system',
      'lines name a user before the command, as in /etc/crontab (default: by the look of them)',
    )
    .option('--user', 'lines name no user')
    .addHelpText('after', crontabExamples)
  withSettings(withJson(command), 'client')
  command.action(async (file: string) => {
    const flags = command.opts<ImportFlags>()
    if (flags.system && flags.user) throw new UsageError('Give --system or --user, not both.')
    const text = await readInput(file)
    const output = outputOf(command)
    const users = usersHere()
    const system = flags.system ?? (!flags.user && looksLikeSystem(text, file, users))
    const timezone = flags.timezone ?? output.look.timeZone
    const mapped = jobsOfCrontab(text, {
      file: file === '-' ? 'stdin' : file,
      system,
      timezone,
      ...(!flags.user && { users }),
      ...commonOf(flags),
    })
    if (flags.timezone === undefined && mapped.usesGivenZone && !output.json)
      output.note(
        `Lines without CRON_TZ are read in ${timezone}, the zone of this machine; --timezone says another.`,
      )
    const { settleNames } = await import('../import/settle-names.js')
    await imported(command, flags, await settleNames(clientOf(command), mapped), output)
  })
  return command
}

/** `carillon import k8s FILE|-` */
function k8sCommand(): Command {
  const command = new Command('k8s')
    .description(
      'Make command jobs of Kubernetes CronJobs; what has no counterpart is reported with its line',
    )
    .argument('<file>', 'manifests: one or many YAML documents, lists as well; - reads stdin')
  withImportFlags(command)
    .option('--timezone <zone>', 'of CronJobs without timeZone', 'UTC')
    .addHelpText('after', '\nExample:\n  kubectl get cronjobs -A -o yaml | carillon import k8s - --dry-run')
  withSettings(withJson(command), 'client')
  command.action(async (file: string) => {
    const flags = command.opts<ImportFlags & { timezone: string }>()
    const text = await readInput(file)
    const output = outputOf(command)
    const { jobsOfK8s } = await import('../import/k8s.js')
    const mapped = jobsOfK8s(text, {
      file: file === '-' ? 'stdin' : file,
      timezone: flags.timezone,
      ...commonOf(flags),
    })
    await imported(command, flags, mapped, output)
  })
  return command
}

async function imported(
  command: Command,
  flags: ImportFlags,
  mapped: Mapped,
  output: ReturnType<typeof outputOf>,
): Promise<void> {
  // Loaded here: the schemas are of no use to other commands.
  const { declare } = await import('../declare/declare.js')
  await declare(command, output, mapped, {
    dryRun: flags.dryRun ?? false,
    yes: flags.yes ?? false,
    pauseReason: 'suspended where it was imported from',
  })
}

function commonOf(flags: ImportFlags): { prefix?: string; fields: Partial<DeclaredInput> } {
  const { overlap, missedWindow, maxRetries, timeoutSeconds } = flags
  const given = { overlap, missedWindow, maxRetries, timeoutSeconds }
  const job = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return {
    ...(flags.prefix !== undefined && { prefix: flags.prefix }),
    fields: {
      ...fieldsOf(job),
      ...(flags.owner !== undefined && { managed_by: flags.owner }),
      ...(flags.tag !== undefined && { tags: flags.tag }),
    },
  }
}

function usersHere(): Set<string> {
  try {
    return new Set(
      readFileSync('/etc/passwd', 'utf8')
        .split('\n')
        .flatMap((line) => line.split(':', 1)),
    )
  } catch {
    return new Set()
  }
}
