import type { Command } from 'commander'
import { healthText } from '../views/health.js'
import { clientCommand } from './client-command.js'

/** `carillon status`: is it all right, and if not, why. Its exit code says so, too. */
export function statusCommand(): Command {
  return clientCommand(
    'status',
    'Say whether the fleet does its work, and if not, why; exit code 1 unless all is well',
    (command) => command,
    async ({ client, output }) => {
      const status = await client.status()
      output.result(status, () => healthText(status, output.look))
      if (status.state !== 'ok') process.exitCode = 1
    },
  )
}
