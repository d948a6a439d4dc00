export const mask = '****'

/**
 * Shows a URL without its password. A password with an unescaped `@` or `/` makes the URL ambiguous, so everything
 * from the first colon to the last `@` goes: rather hide too much. What does not look like a URL is hidden whole.
 */
export function maskUrlPassword(text: string): string {
  const schemeEnd = text.indexOf('://') + 3
  if (schemeEnd < 3) return mask
  const rest = text.slice(schemeEnd)
  const colon = rest.indexOf(':')
  const at = rest.lastIndexOf('@')
  const visible = colon >= 0 && colon < at ? rest.slice(0, colon + 1) + mask + rest.slice(at) : rest
  // The driver also takes passwords as parameters.
  return text.slice(0, schemeEnd) + visible.replace(/([?&][^=&]*password[^=&]*=)[^&]*/gi, `$1${mask}`)
}

const postgresUrl =
  /^postgres(?:ql)?:\/\/(?:(?<user>[^@/?#\s]*)@)?(?<hosts>[^@/?#\s]*)(?<path>\/[^@?#\s]*)?(?<query>\?[^@#\s]*)?$/

/** Several hosts, separated by commas, are valid for Postgres; the URL class would refuse them. */
export function isPostgresUrl(text: string): boolean {
  const parts = postgresUrl.exec(text)?.groups
  if (parts === undefined) return false
  const { user = '', hosts = '', path = '', query = '' } = parts
  if (hosts === '' && path === '' && query === '') return false
  return [user, hosts, path, query].every(isDecodable) && hosts.split(',').every(isHostAndPort)
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

function isHostAndPort(text: string): boolean {
  const match = /^(?:\[[0-9a-f:.]+\]|[^:[\]]*)(?::(?<port>\d+))?$/i.exec(text)
  if (match === null) return false
  const port = Number(match.groups?.port ?? 5432)
  return port >= 1 && port <= 65_535
}

export function isHttpUrl(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text)
}
