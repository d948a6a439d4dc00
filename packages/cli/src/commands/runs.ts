import type { Client } from '@carillon/sdk'
import { Command } from 'commander'
import { clientOf } from '../client.js'
import { findJobId } from '../find-job.js'
import { limitOf } from '../job-input.js'
import type { Look } from '../output/look.js'
import { outputOf, withJson } from '../output/output.js'
import { whenInZone } from '../output/time.js'
import { withSettings } from '../settings.js'
import { runTable } from '../views/runs.js'

export function runsCommand(): Command {
  return new Command('runs').description("See what became of a job's ticks").addCommand(runsListCommand())
}

const defaultLimit = 20

/** `carillon runs list JOB` */
function runsListCommand(): Command {
  const command = new Command('list')
    .description("List a job's runs, latest tick first")
    .argument('<job>', "a job's id (also of a deleted job), or the name of a live job")
    .option('--limit <n>', `how many at most (default ${defaultLimit})`)
  withSettings(withJson(command), 'client')
  command.action(async (given: string) => {
    const output = outputOf(command)
    const limit = limitOf(command.opts<{ limit?: string }>().limit) ?? defaultLimit
    const client = clientOf(command)
    const id = await findJobId(client, given)
    const runs = await client.jobs.runs(id, { limit })
    output.result(runs, () => (runs.length === 0 ? '' : runTable(runs, output.look)))
    if (runs.length === 0 && !output.json) output.note(await whyEmpty(client, id, output.look))
  })
  return command
}

async function whyEmpty(client: Client, id: string, look: Look): Promise<string> {
  const { next_run_at: next, state } = await client.jobs.get(id)
  if (next !== null) return `No tick of it has come yet; the first is at ${whenInZone(next, look)}.`
  return `No tick of it has come, and none is ahead: the job is ${state}. See: carillon jobs get ${id}`
}
