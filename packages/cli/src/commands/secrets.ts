import { Command } from 'commander'
import { clientOf } from '../client.js'
import { durationOf } from '../moments.js'
import { outputOf, withJson } from '../output/output.js'
import { visible } from '../output/visible.js'
import { withSettings } from '../settings.js'
import { rotatedText, secretTable } from '../views/secrets.js'

export function secretsCommand(): Command {
  return new Command('secrets')
    .description('What webhooks are signed with: receivers verify deliveries with it')
    .addCommand(showCommand())
    .addCommand(listCommand())
    .addCommand(rotateCommand())
    .addCommand(retireCommand())
}

/** `carillon secrets show`: the secret alone, so that a script can take it. */
function showCommand(): Command {
  const command = new Command('show').description('Print the current secret, for a receiver')
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const secret = await clientOf(command).signingSecrets.current()
    output.result(secret, () => `${visible(secret.secret)}\n`)
  })
  return command
}

/** `carillon secrets list` */
function listCommand(): Command {
  const command = new Command('list').description(
    'List the secrets that sign, without the secrets themselves',
  )
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const list = await clientOf(command).signingSecrets.list()
    output.result(list, () => secretTable(list.data, output.look))
  })
  return command
}

/** `carillon secrets rotate --overlap 7d` */
function rotateCommand(): Command {
  const command = new Command('rotate')
    .description('Make a new secret; the one before signs beside it for the overlap')
    .option('--overlap <time>', 'how long: 90s, 30m, 2h, 1d; at most 30d; 0 where it has leaked', '1d')
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const { overlap } = command.opts<{ overlap: string }>()
    const seconds = /^0[smhdw]?$/.test(overlap) ? 0 : durationOf('--overlap', overlap)
    const made = await clientOf(command).signingSecrets.rotate({ overlap_seconds: seconds })
    output.result(made, () => `${visible(made.secret)}\n`)
    if (!output.json) output.note(rotatedText(made, seconds, output.look))
  })
  return command
}

/** `carillon secrets retire ID` */
function retireCommand(): Command {
  const command = new Command('retire')
    .description('End a secret that retires, before its time')
    .argument('<id>', 'sgn_…, as carillon secrets list shows it')
  withSettings(withJson(command), 'client')
  command.action(async (id: string) => {
    const output = outputOf(command)
    await clientOf(command).signingSecrets.retire(id)
    output.result({ retired: id }, () => {
      const { green, bold } = output.look.colors
      return `${green('✓')} Retired ${bold(visible(id))}: within 5 s nothing is signed with it any more\n`
    })
  })
  return command
}
