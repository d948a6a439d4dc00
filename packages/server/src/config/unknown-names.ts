import { editDistance } from './edit-distance.js'
import type { ConfigProblem } from './problem.js'
import { namesReadElsewhere, settingList } from './settings.js'

const settingNames = settingList.map(({ setting }) => setting.env)
const known = new Set<string>([...settingNames, ...namesReadElsewhere.map(({ env }) => env)])

/**
 * Names that look like ours and are not: a misspelt setting must not be ignored silently. Their values stay unsaid,
 * because a misspelt secret is still a secret.
 */
export function unknownNames(env: Readonly<Record<string, string | undefined>>): ConfigProblem[] {
  const ours = Object.keys(env).filter((name) => /^carillon_/i.test(name) && env[name] !== undefined)
  const links = ours.filter((name) => isServiceLink(name, env[name] ?? ''))
  const unknown = ours.filter((name) => !known.has(name) && !links.includes(name)).sort()
  return [...unknown.map(refuse), ...serviceLinkProblem(links.sort())]
}

function refuse(name: string): ConfigProblem {
  const nearest = nearestSetting(name)
  const advice =
    nearest === undefined
      ? 'remove it, or see `carillon config` for the names there are'
      : `did you mean ${nearest}?`
  return { where: name, message: `${name} is not a setting: ${advice}` }
}

/** The setting a slip or two away, or else the one with most letters in common, if that is at least half of them. */
function nearestSetting(name: string): string | undefined {
  const wanted = essence(name)
  const ranked = settingNames
    .map((candidate) => {
      const slips = editDistance(name.toUpperCase(), candidate)
      const meant = essence(candidate)
      const difference = editDistance(wanted, meant) / Math.max(wanted.length, meant.length)
      return { candidate, slips, difference: slips <= 2 ? 0 : difference }
    })
    .sort((a, b) => a.difference - b.difference || a.slips - b.slips)
  return ranked.find(({ difference }) => difference <= 0.5)?.candidate
}

/** A forgotten or different unit, or a prefix too many (CARILLON_DATABASE_URL), says little about what was meant. */
function essence(name: string): string {
  return name
    .toUpperCase()
    .replace(/^CARILLON_/, '')
    .replace(/_(MS|SECONDS|HOURS|DAYS|BYTES)$/, '')
}

/** Kubernetes puts such names into every pod beside a Service called carillon or carillon-something. */
function isServiceLink(name: string, value: string): boolean {
  if (/_SERVICE_(HOST|PORT|PORT_[A-Z0-9_]+)$/.test(name)) return true
  if (/_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name)) return true
  return name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value)
}

function serviceLinkProblem(names: readonly string[]): ConfigProblem[] {
  const [first] = names
  if (first === undefined) return []
  const message =
    `${names.join(', ')} ${names.length === 1 ? 'comes' : 'come'} from a Kubernetes Service, not from you: ` +
    'set `enableServiceLinks: false` in the pod'
  return [{ where: first, message }]
}
