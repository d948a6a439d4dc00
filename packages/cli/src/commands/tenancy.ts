import type { ApiKey, AuditEntry, Role, Self, Tenant, TenantInput } from '@carillon/sdk'
import { Command } from 'commander'
import { confirm } from '../confirm.js'
import { integerOf } from '../job-input.js'
import { JobNames, type NameOf } from '../job-names.js'
import { durationOf, momentOf } from '../moments.js'
import { renderFacts } from '../output/facts.js'
import type { Look } from '../output/look.js'
import { renderTable } from '../output/table.js'
import { when, whenInZone } from '../output/time.js'
import { visible } from '../output/visible.js'
import { clientCommand, showList, upTo } from './client-command.js'
import { keysFirstCommand } from './keys-first.js'
import { revealed } from './revealed-key.js'

const limit = (command: Command) => command.option('--limit <n>', 'how many at most (default 20)')

export function keysCommand(): Command {
  return new Command('keys')
    .description('API keys of this tenant: a key is shown once, when it is made')
    .addCommand(
      clientCommand<{ limit?: string }>(
        'list',
        'List the keys, without the keys themselves',
        limit,
        async ({ client, output, flags }) =>
          showList(
            output,
            await upTo(flags.limit, (page) => client.keys.list(page)),
            keyTable,
            'No keys yet: carillon keys create ci --role operator',
          ),
      ),
    )
    .addCommand(
      clientCommand(
        'self',
        'Show the key that this command calls with',
        (command) => command,
        async ({ client, output }) => {
          const self = await client.keys.self()
          output.result(self, () => selfFacts(self, output.look))
        },
      ),
    )
    .addCommand(keysFirstCommand())
    .addCommand(keysCreateCommand())
    .addCommand(
      clientCommand<{ overlap?: string }>(
        'rotate',
        'Make a new key in place of one; the old one is valid for the overlap',
        (command) =>
          command.argument('<key>', 'its id, as list shows it').option('--overlap <time>', 'such as 1h'),
        async ({ client, output, flags, args: [id = ''] }) => {
          const overlap =
            flags.overlap === undefined ? {} : { overlap_seconds: durationOf('--overlap', flags.overlap) }
          revealed(await client.keys.rotate(id, overlap), output)
        },
      ),
    )
    .addCommand(
      clientCommand<{ yes?: boolean }>(
        'revoke',
        'End a key: within a second no node takes it any more',
        (command) => command.argument('<key>', 'its id, as list shows it').option('--yes', 'do not ask'),
        async ({ client, output, flags, args: [id = ''] }) => {
          if (!(await confirm(`Revoke the key ${visible(id)}?`, flags)))
            throw new Error('Nothing was revoked.')
          await client.keys.revoke(id)
          output.result(
            { key_id: id, revoked: true },
            () => `${output.look.colors.green('✓')} Revoked ${visible(id)}\n`,
          )
        },
      ),
    )
}

/** `carillon keys create NAME` */
function keysCreateCommand(): Command {
  return clientCommand<{ role: string; expires?: string; tenant?: string }>(
    'create',
    'Make a key, and print it alone so that a script can take it',
    (command) =>
      command
        .argument('<name>', 'for people')
        .requiredOption('--role <role>', 'admin, operator, viewer or worker')
        .option('--expires <instant>', 'ISO-8601; without it, it does not expire')
        .option('--tenant <name>', 'of another tenant, for the admin of the fleet'),
    async ({ client, output, flags, args: [name = ''] }) => {
      const made = await client.keys.create({
        name,
        // Whether it is one, the server says.
        role: flags.role.toLowerCase() as Role,
        ...(flags.expires !== undefined && { expires_at: flags.expires }),
        ...(flags.tenant !== undefined && { tenant: flags.tenant }),
      })
      revealed(made, output)
    },
  )
}

function selfFacts({ actor, key_id: id, role, tenant, expires_at: end }: Self, look: Look): string {
  return renderFacts(
    [
      ['Name', visible(actor)],
      ['Key', id === null ? 'none: none is needed here' : visible(id)],
      ['Role', visible(role)],
      ['Tenant', visible(tenant)],
      ['Expires', when(end, look)],
    ],
    look,
  )
}

function keyTable(keys: readonly ApiKey[], look: Look): string {
  return renderTable<ApiKey>(
    [
      { title: 'ID', cell: (key) => visible(key.key_id) },
      { title: 'NAME', cell: (key) => visible(key.name), least: 10 },
      { title: 'ROLE', cell: (key) => visible(key.role) },
      { title: `CREATED (${look.timeZone})`, cell: (key) => when(key.created_at, look) },
      { title: 'EXPIRES', cell: (key) => when(key.expires_at, look), optional: true },
    ],
    keys,
    look,
  )
}

interface TenantFlags {
  maxJobs?: string
  createPerSecond?: string
  minIntervalSeconds?: string
  weight?: string
  maxConcurrent?: string
}

const tenantFlags = (command: Command) =>
  command
    .option('--max-jobs <n>', 'live jobs at most; "none" takes the limit away')
    .option('--create-per-second <n>', 'registrations a second; "none" takes the limit away')
    .option('--min-interval-seconds <n>', 'the shortest time between two ticks; "none" takes it away')
    .option('--weight <n>', 'its share where tenants compete')
    .option('--max-concurrent <n>', 'runs at once; "none" takes the limit away')

export function tenantsCommand(): Command {
  return new Command('tenants')
    .description('Tenants of the fleet, for its admin')
    .addCommand(
      clientCommand<{ limit?: string }>(
        'list',
        'List the tenants',
        limit,
        async ({ client, output, flags }) =>
          showList(
            output,
            await upTo(flags.limit, (page) => client.tenants.list(page)),
            tenantTable,
            'No tenants.',
          ),
      ),
    )
    .addCommand(
      clientCommand(
        'get',
        'Show one tenant',
        (command) => command.argument('<name>'),
        async ({ client, output, args: [name = ''] }) => {
          const tenant = await client.tenants.get(name)
          output.result(tenant, () => tenantText(tenant, output.look))
        },
      ),
    )
    .addCommand(
      clientCommand<TenantFlags>(
        'create',
        'Make a tenant',
        (command) => tenantFlags(command.argument('<name>')),
        async ({ client, output, flags, args: [name = ''] }) => {
          const tenant = await client.tenants.create({ name, ...limitsOf(flags) })
          output.result(tenant, () => tenantText(tenant, output.look))
        },
      ),
    )
    .addCommand(
      clientCommand<TenantFlags>(
        'edit',
        'Change limits of a tenant',
        (command) => tenantFlags(command.argument('<name>')),
        async ({ client, output, flags, args: [name = ''] }) => {
          const tenant = await client.tenants.edit(name, limitsOf(flags))
          output.result(tenant, () => tenantText(tenant, output.look))
        },
      ),
    )
}

function limitsOf(flags: TenantFlags): Partial<Omit<TenantInput, 'name'>> {
  const read = (text: string | undefined, flag: string) => (text === 'none' ? null : integerOf(text, flag))
  const limits = {
    max_jobs: read(flags.maxJobs, '--max-jobs'),
    create_per_second: read(flags.createPerSecond, '--create-per-second'),
    min_interval_seconds: read(flags.minIntervalSeconds, '--min-interval-seconds'),
    weight: integerOf(flags.weight, '--weight'),
    max_concurrent: read(flags.maxConcurrent, '--max-concurrent'),
  }
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined))
}

/** Null is no number of its own: then the setting of the server holds. */
const ofServer = 'as the server says'
const orServer = (value: number | null) => (value === null ? ofServer : String(value))
const orNone = (value: number | null) => (value === null ? 'no cap' : String(value))

function tenantTable(tenants: readonly Tenant[], look: Look): string {
  return renderTable<Tenant>(
    [
      { title: 'NAME', cell: ({ name }) => visible(name), least: 10 },
      { title: 'MAX JOBS', cell: (one) => orServer(one.max_jobs) },
      { title: 'CREATE/S', cell: (one) => orServer(one.create_per_second) },
      {
        title: 'MIN INTERVAL',
        cell: (one) => (one.min_interval_seconds === null ? ofServer : `${one.min_interval_seconds} s`),
      },
      { title: 'WEIGHT', cell: (one) => String(one.weight) },
      { title: 'AT ONCE', cell: (one) => orNone(one.max_concurrent) },
    ],
    tenants,
    look,
  )
}

function tenantText(tenant: Tenant, look: Look): string {
  return renderFacts(
    [
      ['Name', look.colors.bold(visible(tenant.name))],
      ['Max jobs', orServer(tenant.max_jobs)],
      ['Creates/s', orServer(tenant.create_per_second)],
      ['Min interval', orServer(tenant.min_interval_seconds)],
      ['Weight', String(tenant.weight)],
      ['At once', orNone(tenant.max_concurrent)],
    ],
    look,
  )
}

interface AuditFlags {
  actor?: string
  action?: string
  subject?: string
  after?: string
  before?: string
  limit?: string
}

/** `carillon audit` */
export function auditCommand(): Command {
  return clientCommand<AuditFlags>(
    'audit',
    'Who changed what, the latest first',
    (command) =>
      limit(command)
        .option('--actor <who>', 'only of this key')
        .option('--action <action>', 'only this action')
        .option('--subject <what>', 'only about this, such as a job id')
        .option('--after <instant>', 'only from then on: ISO-8601, or 2h for two hours ago')
        .option('--before <instant>', 'only before: ISO-8601, or 2h for two hours ago'),
    async ({ client, output, flags: { actor, action, subject, after, before, limit: most } }) => {
      const { now } = output.look
      const list = await upTo(most, (page) =>
        client.audit.list({
          ...page,
          ...(actor !== undefined && { actor }),
          ...(action !== undefined && { action }),
          ...(subject !== undefined && { subject }),
          ...(after !== undefined && { after: momentOf(after, now) }),
          ...(before !== undefined && { before: momentOf(before, now) }),
        }),
      )
      const subjects = list.data.flatMap((entry) =>
        entry.subject?.startsWith('job_') ? [entry.subject] : [],
      )
      const nameOf = await new JobNames(client).of(output.json ? [] : subjects)
      showList(output, list, (entries, look) => auditTable(entries, look, nameOf), 'Nothing matches.')
    },
  )
}

function auditTable(entries: readonly AuditEntry[], look: Look, nameOf: NameOf): string {
  const subjectOf = (subject: string) =>
    nameOf(subject) === subject ? subject : `${nameOf(subject)} (${subject})`
  return renderTable<AuditEntry>(
    [
      { title: 'AT', cell: ({ at }) => whenInZone(at, look) },
      { title: 'WHO', cell: ({ actor }) => visible(actor), least: 8 },
      { title: 'DID', cell: ({ action }) => visible(action) },
      { title: 'TO', cell: ({ subject }) => visible(subject === null ? '–' : subjectOf(subject)), least: 10 },
      {
        title: 'DETAIL',
        cell: ({ detail }) => visible(JSON.stringify(detail ?? null)),
        least: 12,
        optional: true,
      },
    ],
    entries,
    look,
  )
}
