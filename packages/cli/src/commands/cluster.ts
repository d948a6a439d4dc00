import { Command } from 'commander'
import { withAccount } from '../account-source.js'
import { outputOf, withJson } from '../output/output.js'
import { withSettings } from '../settings.js'
import { clusterText } from '../views/cluster.js'

/** `carillon cluster`: who is there, who owns what, and whether anything waits. */
export function clusterCommand(): Command {
  const command = new Command('cluster')
    .description('Show the fleet: processes, partitions, lag, queue, catch-ups, brake, open events')
    .option('--partitions', 'list all 256 partitions with owner and epoch')
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const { partitions = false } = command.opts<{ partitions?: boolean }>()
    const view = await withAccount(command, {}, (source) => source.cluster())
    output.result(view, () => clusterText(view, output.look, partitions))
  })
  return command
}
