import { Command } from 'commander'
import { alertsCommand } from './commands/alerts.js'
import { applyCommand, diffCommand } from './commands/apply.js'
import { benchCommand } from './commands/bench.js'
import { brakeCommand } from './commands/brake.js'
import { calendarsCommand } from './commands/calendars.js'
import { clusterCommand } from './commands/cluster.js'
import { completionCommand } from './commands/completion.js'
import { configCommand } from './commands/config.js'
import { dbCommand } from './commands/db.js'
import { deadLettersCommand } from './commands/dead-letters.js'
import { doctorCommand } from './commands/doctor.js'
import { eventsCommand } from './commands/events.js'
import { explainCommand } from './commands/explain.js'
import { exportCommand } from './commands/export.js'
import { importCommand } from './commands/import.js'
import { jobsCommand } from './commands/jobs.js'
import { statusCommand } from './commands/status.js'
import { statsCommand, tailCommand, topCommand } from './commands/live.js'
import { loadCommand } from './commands/load.js'
import { migrateCommand } from './commands/migrate.js'
import { nextCommand } from './commands/next.js'
import { backfillsCommand, operationsCommand } from './commands/operations.js'
import { profilesCommand } from './commands/profiles.js'
import { runsCommand } from './commands/runs.js'
import { secretsCommand } from './commands/secrets.js'
import { targetsCommand } from './commands/targets.js'
import { auditCommand, keysCommand, tenantsCommand } from './commands/tenancy.js'
import { upCommand } from './commands/up.js'
import { verifyCommand } from './commands/verify.js'
import { whyCommand } from './commands/why.js'
import { cliVersion } from './version.js'

/** The whole command tree: what main runs, and what the reference and the completions are made from. */
export function makeProgram(): Command {
  return new Command('carillon')
    .description('Cron for a fleet: every tick accounted for.')
    .version(cliVersion)
    .addCommand(upCommand())
    .addCommand(jobsCommand())
    .addCommand(runsCommand())
    .addCommand(applyCommand())
    .addCommand(diffCommand())
    .addCommand(exportCommand())
    .addCommand(importCommand())
    .addCommand(deadLettersCommand())
    .addCommand(operationsCommand())
    .addCommand(backfillsCommand())
    .addCommand(tailCommand())
    .addCommand(topCommand())
    .addCommand(statsCommand())
    .addCommand(statusCommand())
    .addCommand(loadCommand())
    .addCommand(calendarsCommand())
    .addCommand(secretsCommand())
    .addCommand(targetsCommand())
    .addCommand(nextCommand())
    .addCommand(whyCommand())
    .addCommand(verifyCommand())
    .addCommand(clusterCommand())
    .addCommand(brakeCommand())
    .addCommand(eventsCommand())
    .addCommand(alertsCommand())
    .addCommand(explainCommand())
    .addCommand(keysCommand())
    .addCommand(tenantsCommand())
    .addCommand(auditCommand())
    .addCommand(profilesCommand())
    .addCommand(configCommand())
    .addCommand(doctorCommand())
    .addCommand(dbCommand())
    .addCommand(migrateCommand())
    .addCommand(benchCommand())
    .addCommand(completionCommand())
    .addHelpText('after', '\nExit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 conflict, 5 unreachable')
}
