import { Command } from 'commander'
import { visible } from '../output/visible.js'
import { append } from '../settings.js'
import { UsageError } from '../usage.js'
import { forecastText } from '../views/stats.js'
import { clientCommand } from './client-command.js'

export function loadCommand(): Command {
  return new Command('load')
    .description('What the schedules will ask of the fleet')
    .addCommand(
      clientCommand<{ by: string; from?: string; target?: string; tag?: string[] }>(
        'forecast',
        'Show a heat map of the firings ahead: 24 hours by minute, or 7 days by hour',
        (command) =>
          command
            .option('--by <unit>', 'minute or hour', 'hour')
            .option('--from <instant>', 'begin there, and not now')
            .option('--target <target>', 'only these: http, task, command, http:HOST or task:NAME')
            .option('--tag <tag>', 'only jobs with this tag; may be repeated, all of them count', append),
        async ({ client, output, flags: { by, from, target, tag } }) => {
          if (by !== 'minute' && by !== 'hour') throw new UsageError(`--by is "${by}": use minute or hour.`)
          const forecast = await client.load.forecast({
            by,
            ...(from !== undefined && { from }),
            ...(target !== undefined && { target }),
            ...(tag !== undefined && { tag }),
          })
          output.result(forecast, () => forecastText(forecast, output.look))
        },
      ),
    )
    .addCommand(
      clientCommand(
        'suggestion',
        'Show the hottest seconds, and what jitter would do about them',
        (command) => command,
        async ({ client, output }) => {
          const suggestion = await client.load.suggestion()
          output.result(
            suggestion,
            () => `${JSON.stringify(suggestion, null, 2).split('\n').map(visible).join('\n')}\n`,
          )
        },
      ),
    )
}
