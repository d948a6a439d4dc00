import {
  type AlertChannel,
  type AlertChannelInput,
  type AlertChannelPatch,
  type AlertChannelType,
  CarillonError,
  type FieldProblem,
} from '@carillon/contract'
import type { AddressGuard } from '../../targets/address-guard.js'
import { checkTarget } from '../../targets/check.js'
import type { ChannelSettings } from './deliver/senders.js'

type Field = keyof ChannelSettings

const needed: Record<AlertChannelType, readonly Field[]> = {
  alertmanager: ['url'],
  webhook: ['url'],
  slack: ['url'],
  email: ['smtp_host', 'from', 'to'],
}
const possible: Record<AlertChannelType, readonly Field[]> = {
  alertmanager: ['url', 'headers'],
  webhook: ['url', 'headers'],
  slack: ['url', 'headers'],
  email: ['smtp_host', 'smtp_port', 'smtp_tls', 'smtp_user', 'smtp_password', 'from', 'to'],
}
export const settingFields: readonly Field[] = [...new Set(Object.values(possible).flat())]

/** What of an input it takes to send. */
export function settingsOf(input: AlertChannelInput | AlertChannelPatch): ChannelSettings {
  const given = settingFields.flatMap((field) => (input[field] === undefined ? [] : [[field, input[field]]]))
  return Object.fromEntries(given) as ChannelSettings
}

/** Refuses what could never be sent with. Addresses behind a name are checked when they are dialled. */
export function checkSettings(type: AlertChannelType, settings: ChannelSettings, guard: AddressGuard): void {
  const problems: FieldProblem[] = []
  for (const field of needed[type])
    if (settings[field] === undefined)
      problems.push({ pointer: `/${field}`, message: `is needed for ${type}` })
  for (const field of Object.keys(settings) as Field[])
    if (!possible[type].includes(field))
      problems.push({ pointer: `/${field}`, message: `has no meaning for ${type}` })
  if (settings.smtp_password !== undefined && settings.smtp_user === undefined)
    problems.push({ pointer: '/smtp_user', message: 'is needed with smtp_password' })
  for (const [field, text] of addresses(settings))
    if (!isMailAddress(text))
      problems.push({ pointer: field, message: 'is not an address such as ops@example.com' })
  if (problems.length === 0 && settings.url !== undefined) problems.push(...urlProblems(settings, guard))
  refuse(problems)
}

function refuse(problems: FieldProblem[]): void {
  const [first] = problems
  if (first === undefined) return
  throw new CarillonError('validation_failed', {
    detail: `${first.pointer.slice(1)} ${first.message}`.replace(/\.?$/, '.'),
    errors: problems,
  })
}

/** What was stored to be shown to one place goes to no other: whoever changes the place gives it again. */
export function checkSecrets(before: ChannelSettings, given: ChannelSettings): void {
  const moved = (...fields: Field[]) =>
    fields.find((field) => given[field] !== undefined && given[field] !== before[field])
  const problems: FieldProblem[] = []
  const address = moved('url')
  if (address !== undefined && Object.keys(before.headers ?? {}).length > 0 && given.headers === undefined)
    problems.push({ pointer: '/headers', message: 'has to be given again with another url' })
  const server = moved('smtp_host', 'smtp_port', 'smtp_tls')
  if (server !== undefined && before.smtp_password !== undefined && given.smtp_password === undefined)
    problems.push({ pointer: '/smtp_password', message: `has to be given again with another ${server}` })
  refuse(problems)
}

/** By the same check as the targets of jobs. */
function urlProblems({ url = '', headers }: ChannelSettings, guard: AddressGuard): FieldProblem[] {
  try {
    checkTarget({ type: 'http', url, ...(headers !== undefined && { headers }) }, guard)
    return []
  } catch (error) {
    if (!(error instanceof CarillonError)) throw error
    return error.errors.map((problem) => ({ ...problem, pointer: problem.pointer.replace(/^\/target/, '') }))
  }
}

function addresses({ from, to }: ChannelSettings): [string, string][] {
  return [
    ...(from === undefined ? [] : [['/from', from] as [string, string]]),
    ...(to ?? []).map((address, at): [string, string] => [`/to/${at}`, address]),
  ]
}

/** One plain address: no list, no name, no line break that would get into a header. */
function isMailAddress(text: string): boolean {
  return /^[^\s@<>,;:"()[\]\\]+@[^\s@<>,;:"()[\]\\]+$/.test(text)
}

/** What may be seen of the settings. */
export function shownSettings(
  settings: ChannelSettings,
): Pick<
  AlertChannel,
  | 'url'
  | 'header_names'
  | 'smtp_host'
  | 'smtp_port'
  | 'smtp_tls'
  | 'smtp_user'
  | 'smtp_password_set'
  | 'from'
  | 'to'
> {
  const { smtp_host: host, smtp_user: user, from, to } = settings
  const mail = host !== undefined
  return {
    url: settings.url === undefined ? null : `${new URL(settings.url).origin}/…`,
    header_names: Object.keys(settings.headers ?? {}),
    smtp_host: host ?? null,
    smtp_port: mail ? (settings.smtp_port ?? 587) : null,
    smtp_tls: mail ? (settings.smtp_tls ?? 'starttls') : null,
    smtp_user: user ?? null,
    smtp_password_set: settings.smtp_password !== undefined,
    from: from ?? null,
    to: to ?? [],
  }
}
