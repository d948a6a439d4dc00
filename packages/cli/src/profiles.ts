import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { NotFoundError, UsageError } from './usage.js'

/** One server that a person speaks to, under a name of theirs. */
export interface Profile {
  readonly url: string
  readonly key?: string
}

export interface Profiles {
  /** The one that is meant where nobody names one. */
  readonly current?: string
  readonly profiles: Readonly<Record<string, Profile>>
}

type Environment = Readonly<Record<string, string | undefined>>

/** Where they are kept, by the rules of XDG. */
export function profilesFile(env: Environment): string {
  const { XDG_CONFIG_HOME: config = '', HOME: home = '' } = env
  const folder = config.startsWith('/') ? config : join(home === '' ? homedir() : home, '.config')
  return join(folder, 'carillon', 'profiles.json')
}

export function readProfiles(file: string): Profiles {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { profiles: {} }
    throw error
  }
  const value = parsed(text)
  if (value === null) throw new UsageError(`${file} is not a file of profiles: repair it, or remove it.`)
  return value
}

function parsed(text: string): Profiles | null {
  try {
    const value = JSON.parse(text) as Partial<Profiles> | null
    const profiles: unknown = value?.profiles
    return typeof profiles === 'object' && profiles !== null ? (value as Profiles) : null
  } catch {
    return null
  }
}

/** Others must not read the keys. Written whole or not at all. */
export function writeProfiles(file: string, profiles: Profiles): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 })
  chmodSync(draft, 0o600)
  renameSync(draft, file)
}

/** The profile of this name, or the current one; null where there is none and none was asked for. */
export function chosenProfile(
  name: string | undefined,
  env: Environment,
): { name: string; profile: Profile } | null {
  const { current, profiles } = readProfiles(profilesFile(env))
  const wanted = name ?? current
  if (wanted === undefined) return null
  const profile = Object.hasOwn(profiles, wanted) ? profiles[wanted] : undefined
  if (profile !== undefined) return { name: wanted, profile }
  const known = Object.keys(profiles)
  throw new NotFoundError(
    `There is no profile "${wanted}". ` +
      (known.length === 0
        ? 'Add one: carillon profiles add prod --url https://…'
        : `Those there are: ${known.join(', ')}`),
  )
}
