import type { JobQuery, OperationFilter } from '@carillon/sdk'
import type { Command } from 'commander'
import { append } from './settings.js'
import { UsageError } from './usage.js'

/** The flags that say which jobs are meant. */
export interface JobFilterFlags {
  search?: string
  tag?: string[]
  state?: string
  target?: string
  managedBy?: string
}

export const jobStates = ['active', 'paused', 'ended', 'cancelled'] as const
type State = (typeof jobStates)[number]

export function withJobFilter(command: Command): Command {
  return command
    .option('--search <text>', 'only jobs whose name, description or id has this in it')
    .option('--tag <tag>', 'only jobs with this tag; may be repeated, all of them count', append)
    .option('--state <state>', `only these: ${jobStates.join(', ')}`)
    .option('--target <target>', 'only these: http, task, command, http:HOST or task:NAME')
    .option('--managed-by <owner>', 'only jobs of this owner')
}

export function queryOf(flags: JobFilterFlags): JobQuery {
  return {
    ...(flags.search !== undefined && { search: flags.search }),
    ...(flags.tag !== undefined && { tag: flags.tag }),
    ...(flags.state !== undefined && { state: stateOf(flags.state) }),
    ...(flags.target !== undefined && { target: flags.target }),
    ...(flags.managedBy !== undefined && { managed_by: flags.managedBy }),
  }
}

export function operationFilterOf(flags: JobFilterFlags): OperationFilter {
  const { tag, ...query } = queryOf(flags)
  const { limit: _limit, order: _order, ...filter } = query
  return { ...filter, ...(tag !== undefined && { tags: typeof tag === 'string' ? [tag] : [...tag] }) }
}

function stateOf(text: string): State {
  const state = jobStates.find((one) => one === text.toLowerCase())
  if (state === undefined) throw new UsageError(`--state is "${text}": use ${jobStates.join(', ')}.`)
  return state
}
