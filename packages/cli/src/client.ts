import { type Client, createClient } from '@carillon/sdk'
import type { Command } from 'commander'
import { settingsOf } from './settings.js'
import { UsageError } from './usage.js'

/** A person waits: a server that is restarting gets a second chance, no more. */
const maxRetries = 2

export interface Server {
  readonly url: string
  readonly apiKey: string | undefined
}

/** The server that the command was told to speak to. */
export function serverOf(command: Command): Server {
  const { url, apiKey } = settingsOf(command)
  const { username, password } = new URL(url)
  if (username !== '' || password !== '') {
    throw new UsageError(
      'The URL of the server has a user or a password in it, which is not sent. Take it out of --url or CARILLON_URL, ' +
        'and put an API key into CARILLON_API_KEY.',
    )
  }
  return { url, apiKey }
}

/** The client of that server. */
export function clientOf(command: Command): Client {
  const { url, apiKey } = serverOf(command)
  return createClient({ url, maxRetries, ...(apiKey !== undefined && { apiKey }) })
}
