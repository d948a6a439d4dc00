import type { Setting } from './setting.js'

/** What commands need to reach a server. */
export const clientSettings = {
  url: {
    env: 'CARILLON_URL',
    flag: '--url',
    type: 'url',
    group: 'Client',
    audience: 'client',
    default: 'http://127.0.0.1:7420',
    doc: 'The server that the command speaks to.',
  },
  profile: {
    env: 'CARILLON_PROFILE',
    flag: '--profile',
    type: 'string',
    group: 'Client',
    audience: 'client',
    default: undefined,
    absent: 'the one that `carillon profiles use` chose, if any',
    example: 'prod',
    doc: 'The profile that says which server, and with which key; CARILLON_URL and CARILLON_API_KEY win over it, unless the flag names it.',
  },
  apiKey: {
    env: 'CARILLON_API_KEY',
    type: 'string',
    secret: true,
    group: 'Client',
    audience: 'client',
    default: undefined,
    absent: 'none: no key is sent',
    example: 'the-key-you-were-given',
    doc: 'The API key that the command sends; it has no flag, because other users can read command lines.',
  },
} as const satisfies Record<string, Setting>
