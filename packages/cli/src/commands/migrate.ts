import type { LoadedConfig, MigrationStatus } from '@carillon/server'
import { Command } from 'commander'
import type { Look } from '../output/look.js'
import { type Output, outputOf, withJson } from '../output/output.js'
import { renderTable } from '../output/table.js'
import { when } from '../output/time.js'
import { settingsOf, withSettings } from '../settings.js'
import { statusText } from '../views/status.js'
import { withDatabase } from '../with-database.js'

/** `carillon migrate`: brings the schema up to date; `--status` only looks. */
export function migrateCommand(): Command {
  const command = new Command('migrate')
    .description('Bring the database schema up to date (carillon up does it too)')
    .option('--status', 'show what is applied and what is pending, and change nothing')
  withSettings(withJson(command), 'server', ['dataDir', 'logLevel', 'logFormat'])
  command.action(async () => {
    const output = outputOf(command)
    const config = settingsOf(command)
    await (command.opts<{ status?: boolean }>().status ? showStatus(config, output) : migrate(config, output))
  })
  return command
}

async function migrate(config: LoadedConfig, output: Output): Promise<void> {
  const { migrateDatabase } = await import('@carillon/server')
  const report = await withDatabase(config, output, (database) => migrateDatabase(database))
  output.result(report, () => {
    const { from, to, applied } = report
    const { colors } = output.look
    if (applied.length === 0) return `${colors.green('✓')} The schema is up to date: version ${to}\n`
    const lines = applied.map((file) => `  ${file}\n`).join('')
    return `${colors.green('✓')} Migrated from version ${from} to ${to}:\n${lines}`
  })
}

async function showStatus(config: LoadedConfig, output: Output): Promise<void> {
  const { findRunningPostgres, inspectSchema } = await import('@carillon/server')
  // Where no embedded Postgres was ever made, none is made just to learn that it is empty.
  const empty =
    config.databaseUrl === undefined && (await findRunningPostgres(config.dataDir)).kind === 'none'
  const status = empty ? await nothingApplied() : await withDatabase(config, output, inspectSchema)
  output.result(status, () => renderStatus(status, output.look))
}

async function nothingApplied(): Promise<MigrationStatus> {
  const { loadMigrations } = await import('@carillon/server')
  const known = loadMigrations()
  return {
    current: 0,
    newest: known.at(-1)?.version ?? 0,
    applied: [],
    pending: known.map(({ version, name }) => `${String(version).padStart(4, '0')}_${name}.sql`),
    changed: [],
  }
}

interface StatusRow {
  file: string
  state: string
  at: string | null
}

function renderStatus({ current, newest, applied, pending, changed }: MigrationStatus, look: Look): string {
  const rows: StatusRow[] = [
    ...applied.map(({ file, applied_at }) => ({
      file,
      state: changed.includes(file) ? 'changed since' : 'applied',
      at: applied_at,
    })),
    ...pending.map((file) => ({ file, state: 'pending', at: null })),
  ]
  const table = renderTable<StatusRow>(
    [
      { title: 'MIGRATION', cell: (row) => row.file },
      { title: 'STATE', cell: (row) => row.state },
      { title: `APPLIED (${look.timeZone})`, cell: (row) => when(row.at, look) },
    ],
    rows,
    look,
  )
  return `${table}${summary(current, newest, look)}\n`
}

function summary(current: number, newest: number, { colors }: Look): string {
  if (current === newest) return colors.green(`${statusText('ok')}: version ${current}, up to date`)
  if (current < newest) {
    return colors.yellow(
      `${statusText('warn')}: version ${current} of ${newest}; carillon migrate applies the rest`,
    )
  }
  return colors.red(
    `${statusText('fail')}: version ${current}, made by a newer carillon; this one knows ${newest} at most`,
  )
}
