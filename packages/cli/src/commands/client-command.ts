import type { Client } from '@carillon/sdk'
import { Command } from 'commander'
import { clientOf } from '../client.js'
import { limitOf } from '../job-input.js'
import { type Output, outputOf, withJson } from '../output/output.js'
import { withSettings } from '../settings.js'

export const whichJob = "a job's id, or the name of a live job"

/** What a command is given once the server to be asked is known. */
export interface Asked<Flags> {
  readonly client: Client
  readonly output: Output
  readonly flags: Flags
  readonly args: readonly string[]
}

/** A command that asks a server: with --json, --url and --profile, like all of them. */
export function clientCommand<Flags>(
  name: string,
  description: string,
  shape: (command: Command) => Command,
  work: (asked: Asked<Flags>, command: Command) => Promise<void>,
): Command {
  const command = shape(new Command(name).description(description))
  withSettings(withJson(command), 'client')
  command.action(async () => {
    const output = outputOf(command)
    const asked = { client: clientOf(command), output, flags: command.opts() as Flags, args: command.args }
    await work(asked, command)
  })
  return command
}

export interface Listed<Row> {
  data: Row[]
  next_cursor: string | null
}

const defaultLimit = 20
const largestPage = 200

/** Pages up to the limit that was asked for, in the shape of one page. */
export async function upTo<Row>(
  text: string | undefined,
  page: (query: { limit: number; cursor?: string }) => Promise<Listed<Row>>,
): Promise<Listed<Row>> {
  const most = limitOf(text) ?? defaultLimit
  const data: Row[] = []
  let next: string | null = null
  do {
    const part: Listed<Row> = await page({
      limit: Math.min(most - data.length, largestPage),
      ...(next !== null && { cursor: next }),
    })
    data.push(...part.data)
    next = part.next_cursor
  } while (next !== null && data.length < most)
  return { data, next_cursor: next }
}

/** A list: its table, and a word where it is empty or goes on. */
export function showList<Row>(
  output: Output,
  list: Listed<Row>,
  table: (rows: readonly Row[], shown: Output['look']) => string,
  empty: string,
): void {
  output.result(list, () => (list.data.length === 0 ? '' : table(list.data, output.look)))
  if (output.json) return
  if (list.data.length === 0) output.note(empty)
  else if (list.next_cursor !== null) output.note(`There are more: --limit ${list.data.length * 2}`)
}
