import type { Client, JobList, JobQuery } from '@carillon/sdk'
import { Command } from 'commander'
import { clientOf } from '../client.js'
import { type JobFilterFlags, queryOf, withJobFilter } from '../job-filter.js'
import { limitOf } from '../job-input.js'
import { outputOf, withJson } from '../output/output.js'
import { withSettings } from '../settings.js'
import { UsageError } from '../usage.js'
import { jobTable } from '../views/jobs.js'

const defaultLimit = 20
const largestPage = 200

/** `carillon jobs list` */
export function jobsListCommand(): Command {
  const command = new Command('list')
    .description('List the jobs')
    .option('--limit <n>', `how many at most (default ${defaultLimit})`)
    .option('--all', 'all of them')
    .option('--order <order>', 'newest, next_run or name (default newest)')
  withJobFilter(command)
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const options = command.opts<JobFilterFlags & { limit?: string; all?: boolean; order?: string }>()
    if (options.all && options.limit !== undefined) {
      throw new UsageError('Give --limit or --all, not both.')
    }
    const most = options.all ? Number.POSITIVE_INFINITY : (limitOf(options.limit) ?? defaultLimit)
    const order = orderOf(options.order)
    const query = { ...queryOf(options), ...(order !== undefined && { order }) }
    const list = await upTo(most, query, clientOf(command))
    output.result(list, () => (list.data.length === 0 ? '' : jobTable(list.data, output.look)))
    if (output.json) return
    if (list.data.length === 0 && Object.keys(query).length > 0) output.note('No jobs match.')
    else if (list.data.length === 0) {
      output.note(
        "No jobs yet. Register one: carillon jobs create ping --schedule '@every 5m' --http https://example.com/ping",
      )
    }
    if (list.next_cursor !== null)
      output.note(`There are more: carillon jobs list --all, or --limit ${most * 2}`)
  })
  return command
}

/** As many pages as it takes, in the shape of one page. */
async function upTo(most: number, query: JobQuery, client: Client): Promise<JobList> {
  const data: JobList['data'] = []
  let next: string | null = null
  do {
    const page: JobList = await client.jobs.list({
      ...query,
      limit: Math.min(most - data.length, largestPage),
      ...(next !== null && { cursor: next }),
    })
    data.push(...page.data)
    next = page.next_cursor
  } while (next !== null && data.length < most)
  return { data, next_cursor: next }
}

const orders = ['newest', 'next_run', 'name'] as const

function orderOf(text: string | undefined): JobQuery['order'] {
  const order = orders.find((one) => one === text?.toLowerCase().replaceAll('-', '_'))
  if (text !== undefined && order === undefined)
    throw new UsageError(`--order is "${text}": use ${orders.join(', ')}.`)
  return order
}
