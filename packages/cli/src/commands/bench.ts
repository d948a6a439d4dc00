import { Command } from 'commander'
import { outputOf, withJson } from '../output/output.js'
import { type SeedFlags, seedOwner } from '../seed/options.js'
import { settingsOf, withSettings } from '../settings.js'

const examples = `
Examples:
  carillon bench seed                            a million jobs, each once a day
  carillon bench seed --n 10M --rate 1000        ten million that fire a thousand times a second, all in turn
  carillon bench seed --remove                   takes them away again

The database is that of DATABASE_URL, or the embedded one of the data folder. While no server runs, indexes are built at the
end, and it is all or nothing; beside running servers it goes on in small steps. They are jobs like all others, managed by
${seedOwner}.`

/** `carillon bench`: for measuring. */
export function benchCommand(): Command {
  return new Command('bench').description('Measure: fill a database with jobs').addCommand(seedCommand())
}

function seedCommand(): Command {
  const command = new Command('seed')
    .description('Load very many jobs straight into the database, by COPY')
    .option('--n <count>', 'how many: 250000, 10k, 1M', '1M')
    .option('--rate <n>', 'how many of them fire in a second, evenly; each in its turn')
    .option('--over <time>', 'or: in which time each fires once, as 30m or 24h (default 24h)')
    .option('--first-in <time>', 'the first of them fires so long from now (default: when all are loaded)')
    .option('--name <text>', 'what their names begin with', 'seed')
    .option('--task <name>', 'the task of a worker that they run (default noop)')
    .option('--http <url>', 'or: call this URL')
    .option('--payload <json>', 'JSON value given to the target; @file reads a file, - reads stdin')
    .option(
      '--tenant <name>',
      'whose jobs they are (default the tenant default; with --remove of all tenants)',
    )
    .option('--beside-others', 'also into a database that has jobs of somebody else')
    .option('--remove', 'take away what was seeded before; stop the servers first')
    .option('--yes', 'do not ask')
    .addHelpText('after', examples)
  withSettings(withJson(command), 'server', ['dataDir', 'logLevel', 'logFormat'])
  command.action(async () => {
    const flags = command.opts<SeedFlags>()
    const [config, output] = [settingsOf(command), outputOf(command)]
    // Loaded when it is needed: other commands start faster without it.
    const { remove, seed } = await import('../seed/command.js')
    await (flags.remove ? remove(config, output, flags) : seed(config, output, flags))
  })
  return command
}
