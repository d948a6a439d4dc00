import { Command } from 'commander'
import type { Check } from '../doctor/check.js'
import { examine } from '../doctor/examine.js'
import { displayWidth } from '../output/display-width.js'
import type { Look } from '../output/look.js'
import { outputOf, withJson } from '../output/output.js'
import { visible } from '../output/visible.js'
import { settingsOf, withSettings } from '../settings.js'
import { paintStatus, statusText } from '../views/status.js'

/** `carillon doctor`: looks at everything a server needs, changes nothing, and says what to do. */
export function doctorCommand(): Command {
  const command = new Command('doctor').description(
    'Check this machine, the settings, Postgres, the cluster and the server that commands ask; changes and starts nothing',
  )
  withSettings(withJson(command), 'server', ['dataDir', 'roles', 'tasks', 'host', 'port'])
  withSettings(command, 'client')
  command.action(async () => {
    const output = outputOf(command)
    const checks = await examine(() => settingsOf(command))
    const healthy = checks.every((check) => check.status !== 'fail')
    output.result({ ok: healthy, checks }, () => renderChecks(checks, output.look))
    process.exitCode = healthy ? 0 : 1
    // A task file that was loaded may hold the process open with timers or connections of its own.
    await output.flushed()
    process.exit()
  })
  return command
}

export function renderChecks(checks: readonly Check[], look: Look): string {
  const widest = Math.max(...checks.map((check) => displayWidth(check.name)))
  const lines = checks.flatMap(({ name, status, says, todo }) => {
    const mark = paintStatus(statusText(status).padEnd(6), status, look.colors)
    const indent = ' '.repeat(8 + widest + 2)
    const [first = '', ...more] = says.split('\n').map(visible)
    return [
      `${mark}  ${name.padEnd(widest)}  ${first}`,
      ...more.map((line) => indent + line),
      ...(todo === null ? [] : [`${indent}→ ${visible(todo)}`]),
    ]
  })
  const count = (status: Check['status']) => checks.filter((check) => check.status === status).length
  const total = `${count('fail')} failed, ${count('warn')} to look at, ${count('ok')} fine, ${count('skip')} not checked`
  return `${[...lines, '', total].join('\n')}\n`
}
