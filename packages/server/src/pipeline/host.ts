import type { Target } from '@carillon/contract'

/** The host that a target calls, as limits and breakers name it: lower case, with its port unless that is the usual one. */
export function hostOf(target: Target): string | null {
  return target.type === 'http' ? hostOfUrl(target.url) : null
}

export function hostOfUrl(url: string): string | null {
  if (!URL.canParse(url)) return null
  const { host } = new URL(url)
  return host === '' ? null : host
}
