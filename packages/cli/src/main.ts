import { Command } from 'commander'
import { upCommand } from './commands/up.js'
import { exitCodeOf, explainFailure } from './failure.js'
import { cliVersion } from './version.js'

const program = new Command('carillon')
  .description('Cron for a fleet: every tick accounted for.')
  .version(cliVersion)
  .showHelpAfterError('(carillon --help lists the commands)')
  .addCommand(upCommand())

try {
  await program.parseAsync()
} catch (error) {
  process.stderr.write(`${explainFailure(error)}\n`)
  process.exitCode = exitCodeOf(error)
}
