/** One call in the three languages of the people who read a run page. */

export interface CopyCall {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  body?: unknown
  cli: string
  typescript: string
}

/** For a shell: nothing in it is read as anything but text. */
export function shellQuote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

export function asCurl(call: CopyCall, origin: string, withKey: boolean): string {
  const lines = [`curl ${shellQuote(origin + call.path)}`]
  if (call.method !== 'GET') lines[0] = `curl -X ${call.method} ${shellQuote(origin + call.path)}`
  if (withKey) lines.push(`-H "Authorization: Bearer $CARILLON_API_KEY"`)
  if (call.body !== undefined) {
    lines.push(`-H 'Content-Type: application/json'`, `-d ${shellQuote(JSON.stringify(call.body))}`)
  }
  return lines.join(' \\\n  ')
}

export function asTypeScript(call: CopyCall, origin: string, withKey: boolean): string {
  const key = withKey ? ', apiKey: process.env.CARILLON_API_KEY' : ''
  return [
    `import { createClient } from '@carillon/sdk'`,
    '',
    `const carillon = createClient({ url: ${JSON.stringify(origin)}${key} })`,
    `await carillon.${call.typescript}`,
  ].join('\n')
}

export function asCli(call: CopyCall): string {
  return `carillon ${call.cli}`
}

/** The request that a worker makes for a run of an http job, for trying it by hand. */
export function deliveryAsCurl(
  target: { url: string; method?: string | undefined; headers?: Record<string, string> | undefined },
  body: unknown,
): string {
  const method = target.method ?? 'POST'
  const lines = [`curl -X ${method} ${shellQuote(target.url)}`]
  for (const [name, value] of Object.entries(target.headers ?? {}))
    lines.push(`-H ${shellQuote(`${name}: ${value}`)}`)
  if (method !== 'GET' && method !== 'DELETE') {
    lines.push(`-H 'Content-Type: application/json'`, `-d ${shellQuote(JSON.stringify(body))}`)
  }
  return lines.join(' \\\n  ')
}
