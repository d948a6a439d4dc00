import { Command } from 'commander'
import { type Progress, withAccount } from '../account-source.js'
import { dayOrMomentOf } from '../moments.js'
import { outputOf, withJson } from '../output/output.js'
import { withSettings } from '../settings.js'
import { isWhole, verificationText } from '../views/verification.js'

const examples = `
Examples:
  carillon verify                                      the last 24 hours
  carillon verify --from 2026-10-25T00:00Z --to 2026-10-26T00:00Z --job nightly-report

expected = ran + late + caught up + skipped + in flight + paused + pending + unaccounted. "ran" is what ran on time.
Ends with 1 when a tick is unaccounted or doubled. With DATABASE_URL the database is read, all tenants; otherwise the
server is asked.`

/** `carillon verify --from A --to B [--job J]`: proves that every tick is accounted for, or shows which is not. */
export function verifyCommand(): Command {
  const command = new Command('verify')
    .description('Compare the ticks that schedules name in a range with what is on record')
    .option(
      '--from <instant>',
      'the first instant: ISO-8601 or a date (UTC without an offset), or how long ago: 90m, 24h, 7d',
      '24h',
    )
    .option('--to <instant>', 'the first instant that does not belong to the range (default now)')
    .option('--job <job>', "only this one: a job's id or name")
    .addHelpText('after', examples)
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const { from, to, job } = command.opts<{ from: string; to?: string; job?: string }>()
    const { now } = output.look
    const progress = progressOn((text) => output.note(text))
    const found = await withAccount(command, { from: '--from', to: '--to' }, async (source) =>
      source.verify({
        from: dayOrMomentOf(from, now),
        ...(to !== undefined && { to: dayOrMomentOf(to, now) }),
        ...(job !== undefined && { jobId: await source.findJobId(job) }),
        onProgress: progress,
      }),
    )
    output.result(found, () => verificationText(found, output.look))
    if (!isWhole(found)) process.exitCode = 1
  })
  return command
}

const tellEveryMs = 2_000

/** A line now and then, on stderr, for work that takes long. */
function progressOn(note: (text: string) => void): (soFar: Progress) => void {
  let toldAt = performance.now()
  return ({ jobs, expected }) => {
    if (performance.now() - toldAt < tellEveryMs) return
    toldAt = performance.now()
    note(`… ${jobs.toLocaleString('en')} jobs, ${expected.toLocaleString('en')} ticks`)
  }
}
