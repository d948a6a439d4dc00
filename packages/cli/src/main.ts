import { Command } from 'commander'
import { brakeCommand } from './commands/brake.js'
import { calendarsCommand } from './commands/calendars.js'
import { clusterCommand } from './commands/cluster.js'
import { configCommand } from './commands/config.js'
import { deadLettersCommand } from './commands/dead-letters.js'
import { doctorCommand } from './commands/doctor.js'
import { eventsCommand } from './commands/events.js'
import { explainCommand } from './commands/explain.js'
import { importCommand } from './commands/import.js'
import { jobsCommand } from './commands/jobs.js'
import { migrateCommand } from './commands/migrate.js'
import { nextCommand } from './commands/next.js'
import { runsCommand } from './commands/runs.js'
import { secretsCommand } from './commands/secrets.js'
import { targetsCommand } from './commands/targets.js'
import { upCommand } from './commands/up.js'
import { verifyCommand } from './commands/verify.js'
import { whyCommand } from './commands/why.js'
import { exitCodeOf, explainFailure } from './failure.js'
import { outliveReaders } from './output/output.js'
import { visibleLines } from './output/visible.js'
import { cliVersion } from './version.js'

outliveReaders()

const program = new Command('carillon')
  .description('Cron for a fleet: every tick accounted for.')
  .version(cliVersion)
  .addCommand(upCommand())
  .addCommand(jobsCommand())
  .addCommand(runsCommand())
  .addCommand(importCommand())
  .addCommand(deadLettersCommand())
  .addCommand(calendarsCommand())
  .addCommand(secretsCommand())
  .addCommand(targetsCommand())
  .addCommand(nextCommand())
  .addCommand(whyCommand())
  .addCommand(verifyCommand())
  .addCommand(clusterCommand())
  .addCommand(brakeCommand())
  .addCommand(eventsCommand())
  .addCommand(explainCommand())
  .addCommand(configCommand())
  .addCommand(doctorCommand())
  .addCommand(migrateCommand())
  .addHelpText('after', '\nExit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 conflict, 5 unreachable')
prepare(program)

try {
  await program.parseAsync()
} catch (error) {
  const text = explainFailure(error)
  if (text !== null) process.stderr.write(`${text}\n`)
  process.exitCode = exitCodeOf(error)
}

/** Commands that are added, not made by their parent, inherit nothing: each gets the same manners. */
function prepare(command: Command): void {
  command
    .exitOverride()
    .configureOutput({ writeErr: (text) => void process.stderr.write(visibleLines(text)) })
    .showHelpAfterError(`(${fullName(command)} --help says what it takes)`)
  for (const inner of command.commands) prepare(inner)
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`
}
