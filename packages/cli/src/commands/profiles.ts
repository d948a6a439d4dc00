import { readEnvironment } from '@carillon/server/config'
import { Command } from 'commander'
import { confirm } from '../confirm.js'
import type { Look } from '../output/look.js'
import { outputOf, withJson } from '../output/output.js'
import { renderTable } from '../output/table.js'
import { visible } from '../output/visible.js'
import { profilesFile, readProfiles, writeProfiles } from '../profiles.js'
import { readInput } from '../read-input.js'
import { NotFoundError, UsageError } from '../usage.js'

export function profilesCommand(): Command {
  return new Command('profiles')
    .description(
      'Names for the servers you speak to; CARILLON_URL and CARILLON_API_KEY win over them, --profile over those',
    )
    .addCommand(addCommand())
    .addCommand(listCommand())
    .addCommand(useCommand())
    .addCommand(removeCommand())
}

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** `carillon profiles add NAME --url URL --key KEY` */
function addCommand(): Command {
  const command = new Command('add')
    .description('Add a profile, or replace it; the first one becomes the current one')
    .argument('<name>', 'e.g. prod')
    .requiredOption('--url <url>', 'the address of the server')
    .option('--key <key>', 'its API key; - reads stdin, which other users of this machine cannot see')
    .option('--use', 'make it the current one')
  withJson(command)
  command.action(async (name: string) => {
    const output = outputOf(command)
    const flags = command.opts<{ url: string; key?: string; use?: boolean }>()
    if (!namePattern.test(name))
      throw new UsageError(`"${visible(name)}" is no name for a profile: use letters, digits, . _ and -.`)
    const url = urlOf(flags.url)
    const key = flags.key === '-' ? (await readInput('-')).trim() : flags.key
    if (key === '') throw new UsageError('The key is empty.')
    const file = profilesFile(readEnvironment())
    const before = readProfiles(file)
    const current = flags.use || before.current === undefined ? name : before.current
    const profile = { url, ...(key !== undefined && { key }) }
    writeProfiles(file, { current, profiles: { ...before.profiles, [name]: profile } })
    output.result({ name, url, key: key !== undefined, current: current === name, file }, () => {
      const { green, bold } = output.look.colors
      return `${green('✓')} Added ${bold(name)}: ${visible(url)}${current === name ? ', the current one' : ''}\n`
    })
  })
  return command
}

function urlOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError(
      `--url is "${visible(text)}": the address of a server is expected, such as https://carillon.example.com`,
    )
  if (url.username !== '' || url.password !== '')
    throw new UsageError(
      'The URL has a user or a password in it, which is not sent: give the API key with --key.',
    )
  return text.replace(/\/+$/, '')
}

interface Row {
  name: string
  url: string
  key: boolean
  current: boolean
}

/** `carillon profiles list`: never the keys themselves. */
function listCommand(): Command {
  const command = new Command('list').description('List the profiles, without their keys')
  withJson(command)
  command.action(() => {
    const output = outputOf(command)
    const { current, profiles } = readProfiles(profilesFile(readEnvironment()))
    const rows = Object.entries(profiles).map(
      ([name, { url, key }]): Row => ({ name, url, key: key !== undefined, current: name === current }),
    )
    output.result({ data: rows }, () => (rows.length === 0 ? '' : tableOf(rows, output.look)))
    if (rows.length === 0 && !output.json)
      output.note(
        'No profiles yet. Add one: carillon profiles add prod --url https://carillon.example.com --key -',
      )
  })
  return command
}

function tableOf(rows: readonly Row[], look: Look): string {
  return renderTable<Row>(
    [
      { title: 'NAME', cell: ({ name, current }) => `${current ? '*' : ' '} ${visible(name)}` },
      { title: 'URL', cell: ({ url }) => visible(url), least: 20 },
      { title: 'KEY', cell: ({ key }) => (key ? 'yes' : '–') },
    ],
    rows,
    look,
  )
}

/** `carillon profiles use NAME` */
function useCommand(): Command {
  const command = new Command('use').description('Make a profile the current one').argument('<name>')
  withJson(command)
  command.action((name: string) => {
    const output = outputOf(command)
    const file = profilesFile(readEnvironment())
    const before = readProfiles(file)
    if (!Object.hasOwn(before.profiles, name))
      throw new NotFoundError(`There is no profile "${visible(name)}".`)
    writeProfiles(file, { ...before, current: name })
    const { green } = output.look.colors
    output.result({ current: name }, () => `${green('✓')} ${visible(name)} is the current profile\n`)
  })
  return command
}

/** `carillon profiles remove NAME` */
function removeCommand(): Command {
  const command = new Command('remove')
    .description('Forget a profile and its key')
    .argument('<name>')
    .option('--yes', 'do not ask')
  withJson(command)
  command.action(async (name: string) => {
    const output = outputOf(command)
    const file = profilesFile(readEnvironment())
    const { current, profiles } = readProfiles(file)
    if (!Object.hasOwn(profiles, name)) throw new NotFoundError(`There is no profile "${visible(name)}".`)
    if (!(await confirm(`Forget the profile "${name}" and its key?`, command.opts<{ yes?: boolean }>())))
      throw new Error('Nothing was removed.')
    const rest = Object.fromEntries(Object.entries(profiles).filter(([one]) => one !== name))
    writeProfiles(file, { profiles: rest, ...(current !== undefined && current !== name && { current }) })
    const { green } = output.look.colors
    output.result({ name, removed: true }, () => `${green('✓')} Forgot ${visible(name)}\n`)
  })
  return command
}
