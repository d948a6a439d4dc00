import { Command } from 'commander'
import { withAccount } from '../account-source.js'
import { limitOf } from '../job-input.js'
import { outputOf, withJson } from '../output/output.js'
import { withSettings } from '../settings.js'
import { eventTable } from '../views/cluster.js'

const defaultLimit = 20

/** `carillon events`: what operators should know of. */
export function eventsCommand(): Command {
  const command = new Command('events')
    .description('List events: those that go on first, then the latest')
    .option('--open', 'only those that go on')
    .option('--limit <n>', `how many at most (default ${defaultLimit})`)
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const { open = false, limit } = command.opts<{ open?: boolean; limit?: string }>()
    const query = {
      state: open ? ('open' as const) : ('all' as const),
      limit: limitOf(limit) ?? defaultLimit,
    }
    const events = await withAccount(command, {}, (source) => source.events(query))
    output.result({ data: events }, () => (events.length === 0 ? '' : eventTable(events, output.look)))
    if (events.length === 0 && !output.json) output.note(open ? 'Nothing goes on.' : 'There are no events.')
  })
  return command
}
