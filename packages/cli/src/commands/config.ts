import { type ConfigRow, describeConfig } from '@carillon/server/config'
import { Command } from 'commander'
import { outputOf, withJson } from '../output/output.js'
import { renderTable } from '../output/table.js'
import { visible } from '../output/visible.js'
import { settingsOf, withSettings } from '../settings.js'

/** `carillon config`: every setting, its value and where that came from. Secrets are masked. */
export function configCommand(): Command {
  const command = new Command('config').description(
    'Show the settings in force and where each came from; the flags are those of up and of the client commands',
  )
  withSettings(withSettings(withJson(command), 'server'), 'client')
  command.action(() => {
    const output = outputOf(command)
    const rows = describeConfig(settingsOf(command))
    const byName = Object.fromEntries(rows.map(({ name, value, source }) => [name, { value, source }]))
    output.result(byName, () => {
      const { colors } = output.look
      return renderTable<ConfigRow>(
        [
          { title: 'GROUP', cell: (row) => row.group, optional: true },
          { title: 'SETTING', cell: (row) => row.name },
          { title: 'VALUE', cell: (row) => visible(row.value), least: 16 },
          {
            title: 'FROM',
            cell: (row) => row.source,
            paint: (text, row) => (row.source === 'default' ? colors.dim(text) : colors.cyan(text)),
            least: 7,
          },
        ],
        rows,
        output.look,
      )
    })
  })
  return command
}
