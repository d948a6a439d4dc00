import { Command } from 'commander'
import { withAccount } from '../account-source.js'
import { outputOf, withJson } from '../output/output.js'
import { withSettings } from '../settings.js'
import { whyText } from '../views/why.js'
import { whyOf } from '../which-tick.js'

const examples = `
Examples:
  carillon why nightly-report                    the latest tick
  carillon why nightly-report --at 2h            the latest one of two hours ago
  carillon why nightly-report --at 09:21         of today, or of yesterday where that is still ahead
  carillon why nightly-report --at 2026-10-25T02:30
  carillon why nightly-report --at 2026-10-25T00:30:00Z --json

Without an offset the instant is meant as the clocks of the job's zone show it. With DATABASE_URL the database is
read; otherwise the server is asked.`

/** `carillon why JOB [--at T]`: what became of one tick, and why. */
export function whyCommand(): Command {
  const command = new Command('why')
    .description('Say in one line what became of a tick of a job, and why')
    .argument('<job>', "a job's id (also of a deleted job), or the name of a job")
    .option(
      '--at <instant>',
      "the tick: ISO-8601, in the job's zone where it has no offset; 09:21; or 2m for the latest one of then (default now)",
    )
    .addHelpText('after', examples)
  withSettings(withJson(command), 'client')
  command.action(async (given: string) => {
    const output = outputOf(command)
    const { at } = command.opts<{ at?: string }>()
    const why = await withAccount(command, { at: '--at' }, async (source) => {
      const jobId = await source.findJobId(given)
      return whyOf(at, output.look.now, (instant) => source.why(jobId, instant))
    })
    output.result(why, () => whyText(why, output.look))
    // Nothing says what became of it: a script must notice.
    if (why.verdict === 'unaccounted' || why.doubled) process.exitCode = 1
  })
  return command
}
